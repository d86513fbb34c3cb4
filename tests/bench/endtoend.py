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


def read(run: Run) -> dict[str, dict[str, dict[int, float]]]:
    """{engine: {way: [I/Os a second in each round]}}; the first round warmed up."""
    found: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for path in (run.folder / "fio").glob("*.json"):
        engine, way, number, _ = path.name.split(".")
        if int(number) == 0:
            continue
        text = path.read_text()
        # fio may say something before it prints JSON.
        job = json.loads(text[text.index("{") :])["jobs"][0]
        found[engine][way][int(number)] = job["read"]["iops"] + job["write"]["iops"]
    return found


def values(run: Run) -> Iterator[Value]:
    """I/Os a second as values of the run, and shares of those of BLog off, round by round."""
    for engine, ways in sorted(read(run).items()):
        off = ways.get("blog_off", {})
        for way in WAYS:
            rounds = ways.get(way)
            if not rounds:
                continue
            yield run.make(f"fio_{engine}.{way}", rounds.values(), "IOPS")
            shares = [100 * n / off[i] for i, n in rounds.items() if off.get(i)]
            if shares:
                yield run.make(f"fio_{engine}.{way}.share", shares, "%")
