#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compares what blog-decode makes of the captures of streams, and of snapshots.

usage: check.py OUT DECODER SIDETABLES

OUT is what tests/stream/guest.sh has left. Every record must be in a capture
once, in the order of its ring; a reader that had time has what the snapshot
has, a slow one has missed exactly what it was told. Prints TAP.
"""

import collections
import json
import subprocess
import sys
from pathlib import Path

OUT, DECODER, TABLES = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
failures = 0


def check(holds, name, *more):
    global failures
    print(f"{'ok' if holds else 'not ok'} - {name}")
    if not holds:
        failures += 1
        for line in more:
            print(f"  | {line}")


class Capture:
    """What the decoder makes of a file."""

    def __init__(self, path):
        self.name = path.name
        run = subprocess.run(
            [DECODER, "--json", "--stats", "--sidetable", TABLES, str(path)],
            capture_output=True, text=True, check=False)
        self.status, self.errors = run.returncode, run.stderr.strip()
        self.rings = collections.defaultdict(list)
        self.losses = collections.Counter()
        self.components, self.summary = {}, {}
        self.times = []
        for line in run.stdout.splitlines():
            entry = json.loads(line)
            if entry["type"] == "record":
                key = tuple(entry[k] for k in ("component", "ring", "context", "cpu", "pid"))
                self.rings[key].append((entry["ordinal"], entry["clock"], entry["message"]))
                self.times.append(entry["boot_ns"])
            elif entry["type"] == "lost":
                self.losses[entry["cause"]] += entry["count"]
            elif entry["type"] == "component":
                self.components[entry["component"]] = entry
            elif entry["type"] == "summary":
                self.summary = entry

    def check(self):
        """Whole, and each record once, in order."""
        check(self.status == 0, f"{self.name} decodes without complaint",
              f"status {self.status}", self.errors, self.summary.get("damage"))
        bad = [key for key, records in self.rings.items()
               if any(a[0] >= b[0] for a, b in zip(records, records[1:]))]
        check(self.rings and not bad, f"{self.name}: each record once, in order", *bad[:5])
        check(self.times == sorted(self.times), f"{self.name}: in the order of time")

    def count(self, component=None):
        return sum(len(r) for k, r in self.rings.items() if component in (None, k[0]))

    def only(self, component):
        return {k: r for k, r in self.rings.items() if k[0] == component}


def stats(name):
    lines = (OUT / f"{name}.stats").read_text().split("\n")
    return {k: int(v) for k, v in (line.split() for line in lines if line)}


def captures(prefix):
    found = [Capture(path) for path in sorted(OUT.glob(prefix))]
    check(found, f"there are captures {prefix}")
    for capture in found:
        capture.check()
    return found


def same(capture, snapshot, component="rnull"):
    """All that a snapshot has, and nothing else."""
    a, b = capture.only(component), snapshot.only(component)
    differ = [k for k in set(a) | set(b) if a.get(k) != b.get(k)]
    missed = capture.losses["reader-lag"]
    check(not differ and not missed,
          f"{capture.name} has the {snapshot.count()} records of the snapshot, "
          f"in {len(b)} rings", f"missed {missed}",
          *(f"{k}: {len(a.get(k, []))} and {len(b.get(k, []))}" for k in differ[:5]))


# Twenty readers with time.
snapshot = Capture(OUT / "twenty.snapshot")
snapshot.check()
check(snapshot.count() == stats("twenty")["records"] > 8000, "the snapshot has all records")
twenty = captures("twenty*.[0-9]*")
check(len(twenty) == 20, "twenty readers read at once")
for capture in twenty:
    same(capture, snapshot)

# Slow ones.
taken = stats("slow")
for capture in captures("slow*.[0-9]*"):
    here = capture.count("rnull")
    missed = capture.losses["reader-lag"]
    gone = capture.components["rnull"]["lost"].get("reader-lag", 0)
    before = capture.losses["overwritten"] + capture.components["rnull"]["gone"]
    other = {k: n for k, n in capture.losses.items() if k not in ("reader-lag", "overwritten")}
    check(here + missed + gone + before == taken["records"] and not other,
          f"{capture.name}: {here} records, {missed} missed in their rings and {gone} in rings "
          f"that are gone, {before} before: {taken['records']} in all", other)
    if "all" not in capture.name:
        check(missed + gone > 0, f"{capture.name} was too slow indeed")

# The driver was away.
snapshot = Capture(OUT / "reload.snapshot")
snapshot.check()
for capture in captures("reload*.[0-9]*"):
    same(capture, snapshot)

# A component has gone.
before = Capture(OUT / "gone.before")
rest, everything = captures("gone.rest")[0], captures("gone-all.1")[0]
check(before.count() and rest.count() == before.count() + 1,
      f"the stream of a removed component has its last record, {rest.count()} in all")
messages = [message for ring in rest.rings.values() for _, _, message in ring]
check(messages[-1].startswith("gone after"), "which was logged on the way out", *messages[-1:])
check(everything.only("rust_blog_disk0") == rest.only("rust_blog_disk0"),
      "the stream of all has the same of it")
check(everything.count("rust_blog") > 0, "and the records of a module that came later")

sys.exit(failures != 0)
