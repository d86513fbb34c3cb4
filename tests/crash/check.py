# SPDX-License-Identifier: GPL-2.0
"""Compares blog-decode's output for a dump with the expected records."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crash import truth as facts
from crash.truth import Truth, Writer

# A ring of 16 KiB has three whole pages at least after the one that is being
# written; a record takes 80 bytes at most.
LEAST = 3 * 4000 // 80


class Wrong(Exception):
    """The dump, or what was made of it, isn't what it must be."""


@dataclass
class Tools:
    """The decoder, and where its side tables are."""

    decode: Path
    tables: Path

    def run(self, *args: object) -> str:
        command = [str(self.decode), *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise Wrong(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
        return done.stdout


@dataclass
class Extracted:
    snapshot: Path
    seconds: float
    peak_kib: int


# A process starts with the peak of the one that it was forked from, which has decoded
# dumps before: so a small one is put in between.
MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def extract(tools: Tools, dump: Path, snapshot: Path) -> Extracted:
    """The dump's rings as a snapshot; with what that took."""
    snapshot.unlink(missing_ok=True)
    to = ("convert", "--to", "snapshot", "-o", str(snapshot))
    command = [str(tools.decode), *to, "--vmcore", str(dump)]
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-S", "-c", MEASURE, *command],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode:
        raise Wrong(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return Extracted(snapshot, time.monotonic() - start, int(done.stdout.split()[-1]))


def mine(record: dict[str, Any], writer: Writer) -> bool:
    """Whether a record or loss is from the writer's ring."""
    if record.get("component") != "crash" or record.get("context") != writer.context:
        return False
    if writer.context == "task":
        return record.get("pid") == writer.pid and record.get("comm") == writer.comm
    return record.get("cpu") == writer.cpu


def check_records(records: list[dict[str, Any]], truth: Truth, before: int) -> str:
    """Each writer's last records: complete, in order, up to the last one published."""
    said = []
    for writer in truth.writers:
        own = [r for r in records if mine(r, writer)]
        who = writer.comm if writer.context == "task" else f"{writer.context} {writer.cpu}"
        for r in own:
            if r["type"] == "lost" and r["cause"] != "overwritten":
                raise Wrong(f"{who}: lost: {r['count']} {r['cause']}")
        own = [r for r in own if r["type"] == "record"]
        if not own:
            raise Wrong(f"{who}: no records")
        first = writer.records - len(own)
        if first < 0 or writer.whole() and first:
            raise Wrong(f"{who}: {len(own)} records of {writer.records}")
        if not writer.whole() and len(own) < LEAST:
            raise Wrong(f"{who}: only {len(own)} records")
        # Of six tasks that start at once, one may begin in a shared ring.
        crowd = truth.scene == "blame"
        if not crowd and len({r["ring"] for r in own}) != 1:
            raise Wrong(f"{who}: records in several rings")
        for seq, r in enumerate(own, first):
            want = facts.message(truth.scene, writer, seq, before)
            if r["message"] != want or not crowd and r["ordinal"] != seq:
                raise Wrong(f"{who}: record {r['ordinal']} is {r['message']!r}, not {want!r}")
        times = [r["clock"] for r in own]
        if times != sorted(times):
            raise Wrong(f"{who}: time goes back")
        said.append(f"last {len(own)} of {writer.records} of {who}")
    return ", ".join(said)


def check_tasks(tools: Tools, snapshot: Path, truth: Truth, before: int) -> None:
    """The threads that are stuck, and no others, are named as such; with their last record."""
    for state, option in (("blocked", "--blocked"), ("running", "--running")):
        stuck = {(w.pid, w.comm): w for w in truth.writers if w.state == state}
        if not stuck:
            continue
        text = tools.run("tasks", "--json", option, "--sidetable", tools.tables, snapshot)
        tasks = [task for line in text.splitlines() if (task := json.loads(line))["type"] == "task"]
        # The caller of panic() is listed whatever it did; that may be a watchdog.
        named = {
            who: task
            for task in tasks
            if (who := (task["pid"], task["comm"])) in stuck or not task["crashed"]
        }
        # Others may run, too; nobody else is blocked.
        if not stuck.keys() <= named.keys() or state == "blocked" and stuck.keys() != named.keys():
            raise Wrong(f"tasks {option} names {list(named)}, not {list(stuck)}")
        for who, writer in stuck.items():
            if named[who]["state"] != state:
                raise Wrong(f"{who} is {named[who]['state']}, not {state}")
            want = facts.message(truth.scene, writer, writer.records - 1, before)
            last = [r["message"] for r in named[who]["records"] if r["type"] == "record"][-1:]
            if last != [want]:
                raise Wrong(f"tasks: the last record of {who} is {last}, not {want!r}")


def blame(truth: Truth) -> dict[int, tuple[list[tuple[str, int | None]], bool]]:
    """Of each writer: what it waits for and who holds that, and so on; and if that is a circle."""
    pids = {writer.id: writer.pid for writer in truth.writers}
    if truth.scene == "abba":
        a, b = ("mutex", pids[1]), ("mutex", pids[2])
        return {pids[1]: ([b, a], True), pids[2]: ([a, b], True)}
    four = ("rwsem-read", pids[4])
    three = ("mutex", pids[3])
    return {
        pids[1]: ([("mutex", pids[2]), three, four], False),
        pids[2]: ([three, four], False),
        pids[3]: ([four], False),
        pids[4]: ([], False),
        pids[5]: ([("semaphore", pids[4])], False),
        pids[6]: ([("mutex", None)], False),
    }


def check_blame(tools: Tools, snapshot: Path, truth: Truth) -> None:
    """Who blocks whom, and that who blocks most of them comes first."""
    text = tools.run("tasks", "--json", "--blocked", "--sidetable", tools.tables, snapshot)
    tasks = [task for line in text.splitlines() if (task := json.loads(line))["type"] == "task"]
    want = blame(truth)
    found = {
        task["pid"]: ([(w["kind"], w["holder"]) for w in task["waits"]], task["deadlock"])
        for task in tasks
        if task["pid"] in want
    }
    if found != want:
        raise Wrong(f"tasks: who blocks whom is {found}, not {want}")
    text = tools.run("tasks", "--blocked", "--sidetable", tools.tables, snapshot)
    who = {w.id: f"{w.comm}[{w.pid}]" for w in truth.writers}
    if truth.scene == "abba":
        lines = ["\nDeadlock: ", f"  mutex of {who[1]} ", f"  mutex of {who[2]} "]
    else:
        lines = [
            f"\n{who[4]} holds up 3 tasks",
            f"\n{who[6]} waits for a mutex whose holder has ended",
            f"\n\u251c\u2500 {who[3]} ",
            f"\n\u2502  \u2514\u2500 {who[2]} ",
            f"\n\u2502     \u2514\u2500 {who[1]} ",
            f"\n\u2514\u2500 {who[5]} ",
        ]
    if missing := [line for line in lines if line not in text]:
        raise Wrong(f"tasks prints no {missing}:\n{text}")
    if truth.scene == "abba":
        return
    gone = [w["ended"] for task in tasks for w in task["waits"]]
    if sum(gone) != 1:
        raise Wrong(f"tasks: {sum(gone)} holders have ended")
    first, blocks = tasks[0]["pid"], tasks[0]["blocks"]
    if (first, blocks) != (truth.writers[3].pid, 4):
        raise Wrong(f"tasks: {first}, who blocks {blocks}, comes first")


def check_crashed(tools: Tools, snapshot: Path, truth: Truth, before: int) -> None:
    """The task that a fatal softirq has interrupted is named, and below it what that did last."""
    text = tools.run("tasks", "--json", "--sidetable", tools.tables, snapshot)
    crashed = [task for line in text.splitlines() if (task := json.loads(line)).get("crashed")]
    last = [r["message"] for task in crashed for r in task["interrupts"]][-1:]
    (writer,) = truth.writers
    want = facts.message(truth.scene, writer, writer.records - 1, before)
    if len(crashed) != 1 or last != [want]:
        raise Wrong(f"{[task['comm'] for task in crashed]} crashed, and {last} was last")


def check_snapshot(tools: Tools, snapshot: Path, truth: Truth, before: int) -> str:
    """All that is checked of what was extracted; says what was found."""
    text = tools.run("--json", "--sidetable", tools.tables, snapshot)
    records = [json.loads(line) for line in text.splitlines()]
    said = check_records(records, truth, before)
    check_tasks(tools, snapshot, truth, before)
    if truth.scene in ("abba", "blame"):
        check_blame(tools, snapshot, truth)
    if truth.scene == "softirq":
        check_crashed(tools, snapshot, truth, before)
    return said


def check(tools: Tools, dump: Path, truth: Truth, before: int, work: Path) -> str:
    """All that is checked of one dump; says what was found."""
    out = extract(tools, dump, work / f"{dump.name}.snap")
    said = check_snapshot(tools, out.snapshot, truth, before)
    size = dump.stat().st_blocks * 512 >> 20
    return f"{said}; {size} MiB read in {out.seconds:.1f} s, {out.peak_kib >> 10} MiB of memory"
