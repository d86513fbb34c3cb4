# SPDX-License-Identifier: GPL-2.0
"""What reading costs: the samples of tests/guest/bench/reading.sh, and a table of them."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from bench.samples import Missing, Run, Value

# (name, way, bytes at a time) in the order of the table, and what they are called
ROWS = {
    ("memory", "read", 4096): "a copy in tmpfs",
    ("memory", "read", 65536): "a copy in tmpfs",
    ("snapshot", "read", 4096): "snapshot",
    ("snapshot", "read", 65536): "snapshot",
    ("stream", "read", 4096): "stream",
    ("stream", "read", 65536): "stream",
    ("stream", "splice", 65536): "stream, splice",
    ("stream-to-file", "read", 65536): "stream to tmpfs",
    ("stream-to-file", "splice", 65536): "stream to tmpfs, splice",
    ("ftrace", "read", 65536): "trace_pipe_raw",
    ("ftrace", "splice", 65536): "trace_pipe_raw, splice",
    ("ftrace-to-file", "read", 65536): "trace_pipe_raw to tmpfs",
    ("ftrace-to-file", "splice", 65536): "trace_pipe_raw to tmpfs, splice",
}  # fmt: skip
# What a record costs while nobody reads, and while somebody does
MARKS = {"alone": "nobody", "read": "by read", "splice": "by splice"}
WRITERS = {"blog_on": "blog_log!", "event_on": "TRACE_EVENT"}

Row = tuple[str, str, int]
Sample = tuple[int, int, int]  # bytes, ns in all, ns of the longest


def samples(run: Run) -> dict[Row, list[Sample]]:
    """Of each row, one for each round."""
    found: dict[Row, list[Sample]] = defaultdict(list)
    path = run.folder / "reading"
    for line in path.read_text().splitlines() if path.exists() else ():
        name, way, *numbers = line.split()
        step, size, ns, longest = map(int, numbers)
        found[name, way, step].append((size, ns, longest))
    return found


def per_byte(run: Run, row: Row) -> Value:
    """What a byte costs."""
    if not (rounds := [ns / size for size, ns, _ in samples(run)[row] if size]):
        raise Missing(f"reading was not measured in {run.setup}")
    return run.make("reading_{}.{}.{}".format(*row), rounds)


def longest(run: Run, row: Row) -> float:
    """What the longest read of a round takes, in milliseconds: noise comes on top of it."""
    if not (rounds := samples(run)[row]):
        raise Missing(f"reading was not measured in {run.setup}")
    return median(ns for _, _, ns in rounds) / 1e6


def values(run: Run) -> Iterator[Value]:
    for row in samples(run):
        yield per_byte(run, row)


def lines(run: Run) -> list[list[str]]:
    """The rows of the table."""
    found = samples(run)
    rows = []
    for row, label in ROWS.items():
        if row in found:
            size, cost = found[row][0][0], per_byte(run, row).median
            rate = f"{1 / cost:.2f}" if run.unit == "ns" else ""
            numbers = [f"{size / 1e6:.1f}", f"{cost:.3f}", rate, f"{longest(run, row):.2f}"]
            rows.append([label, str(row[2] >> 10), *numbers])
    return rows


def writers(run: Run) -> list[list[str]]:
    """What a record costs those who log, by who reads meanwhile."""
    marks = MARKS if run.has("blog_on", "2", mark="alone") else {}
    return [
        [label, *(f"{run.cost(what, '2', mark=mark).median:.1f}" for mark in marks)]
        for what, label in WRITERS.items()
        if marks and run.has(what, "2", mark="alone")
    ]
