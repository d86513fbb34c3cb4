# SPDX-License-Identifier: GPL-2.0
"""Bytes of call sites, and of records: how many fit into a buffer of 1 MiB.

The guest has filled each buffer with one kind of record until all else was overwritten
(tests/guest/bench/bytes.sh). What is left is counted by blog-decode, and in the tracer's stats file.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bench.samples import Missing, Run

MIB = 1 << 20

Sites = Mapping[str, Mapping[str, float]]

# Kinds of records, see docs/cost-tables.rst
SHAPES = ("0", "1", "2", "2x32", "4", "8", "rnull", "str11", "str64")

# LTTng as measured on 23 November 2026, in one boot with BLog f742b73, which has the code for it:
# instructions of an event, and bytes of its record, which has the thread id, and is in a channel of
# more than 31 events.
LTTNG = {
    "1": (456, 14.04),
    "2": (498, 22.10),
    "2x32": (500, 18.06),
    "4": (586, 34.05),
    "8": (762, 58.07),
    "rnull": (587, 27.13),
    "str11": (604, 22.10),
    "str64": (1136, 75.33),
}


def blog(decode: Path, tables: Path, path: Path) -> int:
    """Records in the ring of the task, which is as large as the buffer."""
    command: list[str | Path] = [decode, "stats", "--json", "-s", str(tables), str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rings = [json.loads(line) for line in out.splitlines()]
    tasks = [r for r in rings if r["type"] == "ring-sum" and r["context"] == "task"]
    return int(max(r["records"] for r in tasks))


def ftrace(path: Path) -> int:
    """Records in the buffer of the one CPU."""
    return int(re.findall(r"^entries: (\d+)$", path.read_text(), re.MULTILINE)[0])


def buffer(folder: Path) -> int:
    """Bytes of that buffer."""
    return 1024 * int((folder / "buffer_size_kb").read_text().split()[0])


def read(run: Run, decode: Path) -> dict[str, dict[str, float]]:
    """{logger: {shape: records in 1 MiB}} of a run that has filled buffers. The side table of the
    benchmark's module is beside what the guest has left."""
    folder, tables = run.folder / "bytes", run.folder.parent / "module"
    found: dict[str, dict[str, float]] = {"blog": {}, "trace_printk": {}, "event_on": {}}
    for shape in SHAPES:
        path = folder / f"blog.{shape}"
        if path.exists():
            found["blog"][shape] = blog(decode, tables, path)
        for what in ("trace_printk", "event_on"):
            path = folder / f"{what}.{shape}"
            if path.exists():
                found[what][shape] = ftrace(path) * MIB / buffer(folder)
    return found


def site_bytes(sites: Sites, kind: str) -> dict[str, float]:
    """Loaded bytes of a call site beyond a function that does nothing, by what they are for."""
    if kind not in sites:
        raise Missing(f"no call sites of {kind} were measured")
    found = {"code": 0.0, "data": 0.0, "unwind tables": 0.0}
    for section, size in sites[kind].items():
        part = "data"
        if section.startswith((".text", ".ltext")):
            part = "code"
        elif "orc" in section or "eh_frame" in section:
            part = "unwind tables"
        found[part] += size - (sites["empty"].get(section, 0) if part != "data" else 0)
    return {**found, "sum": sum(found.values())}
