# SPDX-License-Identifier: GPL-2.0
"""Runs a load and checks what came out of its guest."""

import re
import subprocess
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pytest
import vm
from e2e import checks, load, pattern, records

KINDS = ("queue", "complete", "config", "refused", "life")
Checks = Iterator[tuple[str, Iterable[str]]]


class Decoder:
    """Decodes snapshots, with the side tables of a kernel."""

    def __init__(self, program: Path, kernel: vm.Kernel) -> None:
        tables = str(kernel.modules / "blog")
        self.program = str(program)
        self.command = [self.program, "--json", "--stats", "--sidetable", tables]

    def __call__(self, snapshot: Path, still: bool = True) -> records.Log:
        """still: nobody logged while the snapshot was read."""
        with vm.reading([*self.command, snapshot]) as process:
            assert process.stdout
            log = records.read(process.stdout)
        if process.returncode != 0:
            log.contradictions.append(f"exit status {process.returncode}")
        check = [self.program, "check", *(["--still"] if still else []), str(snapshot)]
        result = subprocess.run(check, capture_output=True, text=True)
        if result.returncode != 0:
            log.contradictions.append(result.stdout + result.stderr)
        return log


def prove(
    work: Path,
    kernel: vm.Kernel,
    what: load.Load,
    decoder: Path,
    subtests: pytest.Subtests,
    *,
    machine: vm.Machine | None = None,
    seconds: float = 600,
) -> None:
    """One subtest for each property of the log."""
    result = load.run(work, kernel, what, machine=machine, seconds=seconds)
    assert not result.problem, result.told()
    comm = "dd" if kernel.other else "fio"
    decode = Decoder(decoder, kernel)
    if what.script == "reload":
        todo = reload_checks(result.out, what, decode)
    else:
        todo = load_checks(result.out, what, decode, comm, kernel.flavour.endswith("-rt"))
    for name, violations in todo:
        with subtests.test(msg=name):
            found = list(islice(violations, 5))
            assert not found, "\n".join(found)


def read_counters(path: Path) -> dict[str, int]:
    """What the driver counted: `name value` lines."""
    return counters_of(path.read_text())


def counters_of(text: str) -> dict[str, int]:
    found = re.findall(r"\b([a-z_]+\d*) (\d+)$", text, re.MULTILINE)
    return {name: int(value) for name, value in found}


def read_stat(path: Path) -> dict[str, int]:
    """Fields of /sys/block/DISK/stat, see Documentation/block/stat.rst."""
    words = [int(word) for word in path.read_text().split()]
    return {"reads": words[0], "writes": words[4]}


def since_start(counters: dict[str, int], start: dict[str, int]) -> dict[str, int]:
    """What was counted since the log was cleared."""
    return {name: value - start.get(name, 0) for name, value in counters.items()}


def final_counters(dmesg: str) -> list[dict[str, int]]:
    """What the driver printed when it was unloaded: one set for each time."""
    blocks = re.split(r"rnull\w*: blog_stats\n", dmesg)[1:]
    sets = []
    for block in blocks:
        lines = []
        for line in block.splitlines():
            if not re.search(r"\b(" + "|".join(KINDS) + r"|complete_cpu\d+) \d+$", line):
                break
            lines.append(line)
        sets.append(counters_of("\n".join(lines)))
    return sets


def attempted(counters: dict[str, int]) -> int:
    """All log calls that the driver counted."""
    return sum(counters[kind] for kind in KINDS)


def by_cpu(counters: dict[str, int]) -> dict[int, int]:
    """Completions by CPU."""
    prefix = "complete_cpu"
    return {int(k[len(prefix) :]): v for k, v in counters.items() if k.startswith(prefix)}


def expected(total: int, comm: str) -> list[int]:
    """The load's requests, packed, without tags."""
    jobs = pattern.DD_JOBS if comm == "dd" else pattern.JOBS
    return [records.pack(*request, 0) >> 10 for request in pattern.expected(total, jobs)]


def load_checks(out: Path, what: load.Load, decode: Decoder, comm: str, real_time: bool) -> Checks:
    """Checks of load.sh; comm: what loads; real_time: PREEMPT_RT."""
    log = decode(out / "end.snap")
    start = read_counters(out / "start.counters")
    counters = since_start(read_counters(out / "end.counters"), start)
    stat = read_stat(out / "end.stat")
    ios = pattern.ios_per_job(what.ios) * len(pattern.JOBS)
    done = counters["queue"]
    calls, cpus = attempted(counters), by_cpu(counters)
    yield from [
        ("the load was done", [] if done >= ios else [f"{done} I/Os of {ios}"]),
        ("every record decodes, and the file adds up", checks.everything_decodes(log)),
        ("all records and losses are shown", checks.losses_are_shown(log)),
        ("all rings: written + lost = counted by the driver", checks.nothing_silent(log, calls)),
        ("I/O count agrees with the disk's stat", checks.disk_agrees(counters, stat)),
        ("sector, size and operation equal the load",
         checks.load_is_logged(log, expected(what.ios, comm), comm, what.whole)),
        ("no completion before its submission", checks.completions_follow(log, what.whole)),
    ]  # fmt: skip
    if real_time:
        yield "softirqs log as the tasks that they are", checks.softirqs_are_tasks(log, cpus)
    else:
        yield "each CPU's softirq ring: as counted there", checks.softirq_rings_account(log, cpus)
        yield "completions in softirq on several CPUs", checks.on_cpus(log, 2)
    if what.whole:
        yield "nothing was lost", checks.nothing_lost(log)
    else:
        yield "records were lost, as meant", checks.something_lost(log)
    mids = sorted(out.glob("mid.*"))
    yield "snapshots were read meanwhile", [] if mids else ["none"]
    # One result for each property, however many snapshots there were time for.
    found: dict[str, list[str]] = {}
    for path in mids:
        for name, violations in early_checks(decode(path, still=False), log, what.whole):
            wrong = [f"{path.name}: {violation}" for violation in islice(violations, 5)]
            found.setdefault(f"snapshots under load: {name}", []).extend(wrong)
    yield from found.items()


def early_checks(early: records.Log, log: records.Log, whole: bool) -> Checks:
    """Checks of a snapshot that was read under load; `log` is the last one."""
    yield "every record decodes, and the file adds up", checks.everything_decodes(early)
    yield "all records and losses are shown", checks.losses_are_shown(early)
    yield "no completion before its submission", checks.completions_follow(early, whole=False)
    if whole:
        yield "is the beginning of the last one", checks.is_part_of(early, log)


def reload_checks(out: Path, what: load.Load, decode: Decoder) -> Checks:
    """Checks of reload.sh."""
    finals = final_counters((out / "dmesg").read_text())
    rounds = what.rounds
    assert len(finals) == rounds, f"the driver told its counts {len(finals)} times"
    # The first round began with the driver that was there when the log was cleared.
    finals[0] = since_start(finals[0], read_counters(out / "start.counters"))
    away, log = decode(out / "away.snap"), decode(out / "end.snap")
    calls = sum(map(attempted, [*finals, read_counters(out / "end.counters")]))
    some = any(ring.kind.count(records.QUEUE) for ring in away.rings.values())
    unloads = sum(ring.other.count("unloading") for ring in log.rings.values())
    loads = sum(ring.other.count("loaded") for ring in log.rings.values())
    # The first load was cleared away; tasks that log after the last are too few to take
    # its page. Those of earlier rounds may be overwritten.
    good = 1 <= unloads <= rounds and 1 <= loads <= rounds
    yield from [
        ("records of an unloaded driver decode, and add up", checks.everything_decodes(away)),
        ("driver away: written + lost = counted by the driver",
         checks.nothing_silent(away, attempted(finals[0]))),
        ("requests of the unloaded driver are there", [] if some else ["none"]),
        ("every record decodes, and the file adds up", checks.everything_decodes(log)),
        ("all records and losses are shown", checks.losses_are_shown(log)),
        (f"over {rounds} rounds: written + lost = counted by the driver",
         checks.nothing_silent(log, calls)),
        ("no completion before its submission", checks.completions_follow(log, whole=False)),
        ("loads and unloads are logged",
         [] if good else [f"{loads} and {unloads} in {rounds} rounds"]),
    ]  # fmt: skip
