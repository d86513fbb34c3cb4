# SPDX-License-Identifier: GPL-2.0
"""fio on rnull: I/Os a second with BLog and without, and what is left of those without logging."""

import json
from collections import defaultdict
from collections.abc import Iterator

from bench.samples import Run, Value

# Names of tests/guest/bench/fio.sh, and what they are.
WAYS = {
    "plain": "without BLog",
    "blog_off": "BLog compiled in, off",
    "blog_on": "BLog, each I/O twice",
}


def read(run: Run) -> dict[str, dict[str, float]]:
    """{engine: {way: I/Os a second}}, without the round that warmed up."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for path in (run.folder / "fio").glob("*.run.json"):
        engine, way, *_ = path.name.split(".")
        text = path.read_text()
        # fio may say something before it prints JSON.
        job = json.loads(text[text.index("{") :])["jobs"][0]
        found[engine][way] = job["read"]["iops"] + job["write"]["iops"]
    return found


def values(run: Run) -> Iterator[Value]:
    """I/Os a second as values of the run, and shares of those of BLog off."""
    for engine, ways in sorted(read(run).items()):
        for way in filter(ways.get, WAYS):
            yield run.make(f"fio_{engine}.{way}", [ways[way]], "IOPS")
            if off := ways.get("blog_off"):
                yield run.make(f"fio_{engine}.{way}.share", [100 * ways[way] / off], "%")
