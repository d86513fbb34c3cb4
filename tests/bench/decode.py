# SPDX-License-Identifier: GPL-2.0
"""How fast decoders are: blog-decode beside trace-cmd and babeltrace2, each with a file of its
own logger with the same records (peers.py), on one CPU, in one run, by turns.

The message is an ordinary one, "read 7 sectors at 0x1f40". Output goes to /dev/null. Before it is
measured, each command runs once with its lines counted, so that all do the same work. Rates are
records a second of CPU time (user and system), so that other work on the machine does not count as
much. Memory is the largest VmHWM seen. Then some run on two CPUs and on one, by turns: there, time
passes, so the machine must have nothing else to do.

Machines differ, so bounds are ratios within the run.
"""

import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import peers

TOP = Path(__file__).resolve().parents[2]
RECORDS, ROUNDS = 2_000_000, 7
RINGS = 200
TEXT, JSON, TEXT_RINGS = (
    f"blog-decode: {what}" for what in ("text", "JSON", f"text, {RINGS} rings")
)
EVENT, LTTNG = "trace-cmd report: TRACE_EVENT", "babeltrace2: CTF as LTTng's"
# How many times the rate of which peer, at least
BOUNDS = (
    (TEXT, EVENT, 10),
    (JSON, EVENT, 5),
    (TEXT_RINGS, EVENT, 8.5),
    ("blog-decode: stats", EVENT, 15),
    (TEXT, LTTNG, 5.5),
)
# What is measured on two CPUs, and how many times one CPU's rate that must be
ON_TWO = (TEXT, JSON, TEXT_RINGS)
TWO_CPUS = 1.7

Command = list[str | Path]


def prepare(work: Path) -> None:
    """What is read: a task's ring, which needs no merging, a log of many rings, and the records of
    the first as others write them."""
    shutil.rmtree(work, ignore_errors=True)
    for name, rings in (("one", 1), ("many", RINGS)):
        (work / name).mkdir(parents=True)
        subprocess.run(
            ["cargo", "run", "--quiet", "--release", "--offline", "--locked", "-p", "blog-decode",
             "--example", "biglog", "log", str(RECORDS), str(rings), work / name],
            cwd=TOP, check=True)  # fmt: skip
    peers.trace_dat(work / "event.dat", RECORDS)
    peers.ctf(work / "lttng", RECORDS)


def commands(decoder: Path, work: Path) -> Iterator[tuple[str, Command, int, Path]]:
    """What is measured: name, command, lines for each record (0: few in all), what it reads."""
    for name, of in ((TEXT, "one"), (TEXT_RINGS, "many")):
        log = work / of
        files: Command = ["-s", log / "log.ko", log / "log.snap"]
        yield name, [decoder, "show", *files], 1, log / "log.snap"
        yield name.replace("text", "stats"), [decoder, "stats", *files], 0, log / "log.snap"
        if of == "one":
            yield JSON, [decoder, "show", "--json", *files], 1, log / "log.snap"
    yield EVENT, ["trace-cmd", "report", work / "event.dat"], 1, work / "event.dat"
    yield LTTNG, ["babeltrace2", work / "lttng"], 1, work / "lttng"


def lines(command: Command) -> int:
    """How many lines it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        pipe = process.stdout
        count = sum(part.count(b"\n") for part in iter(lambda: pipe.read(1 << 20), b""))
    if process.returncode:
        sys.exit(f"{command}: exit status {process.returncode}")
    return count


def measure_one(command: Command) -> tuple[float, int, float]:
    """Seconds of CPU, KiB, and seconds that have passed, of one run."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = pid = 0
    while not pid:
        # Counts from exec on, unlike ru_maxrss, which has the Python before it.
        with contextlib.suppress(FileNotFoundError):
            status = Path(f"/proc/{process.pid}/status").read_text()
            hwm = re.search(r"^VmHWM:\s*(\d+)", status, re.MULTILINE)
            peak = int(hwm[1]) if hwm else peak
        time.sleep(0.004)
        pid, ended, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(ended)
    if process.returncode:
        sys.exit(f"{command}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, peak, time.monotonic() - start


def size(path: Path) -> int:
    files = [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]
    return sum(file.stat().st_size for file in files)


def version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).splitlines()
    return next((line.strip() for line in said if re.search(r"\d", line)), "?")


def measure(work: Path, decoder: Path) -> bool:
    """Prints a table; True if a bound is missed."""
    for program in ("trace-cmd", "babeltrace2"):
        if not shutil.which(program):
            sys.exit(f"no {program}: run scripts/setup --tests")
    prepare(work)
    todo = list(commands(decoder, work))
    for name, command, per_record, _ in todo:
        # trace-cmd prints a line about CPUs first.
        if per_record and (got := lines(command)) not in (RECORDS, RECORDS + 1):
            sys.exit(f"{name}: {got} lines, not {RECORDS}")
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    samples: dict[str, list[tuple[float, int, float]]] = {name: [] for name, *_ in todo}
    for _ in range(ROUNDS):
        for name, command, *_ in todo:
            samples[name].append(measure_one(command))
    speedups = on_two_cpus(cpus, [c for c in todo if c[0] in ON_TWO])
    os.sched_setaffinity(0, cpus)
    versions = ", ".join(map(version, (str(decoder), "trace-cmd", "babeltrace2")))
    print(f"{RECORDS} records of two scalars, {ROUNDS} rounds on one CPU; {versions}\n")
    head = ("min", "median", "max", "MiB")
    print(f"{'M records/s of CPU time':<42}", *(f"{word:>6}" for word in head), "bytes/record")
    rates = {name: [RECORDS / cpu / 1e6 for cpu, *_ in of] for name, of in samples.items()}
    for name, _, _, path in todo:
        median, peak = statistics.median(rates[name]), max(kib for _, kib, _ in samples[name])
        print(f"{name:<42} {min(rates[name]):6.2f} {median:6.2f} {max(rates[name]):6.2f} "
              f"{peak / 1024:6.1f} {size(path) / RECORDS:12.1f}")  # fmt: skip
    found = [
        (
            f"{name}: of {peer}",
            statistics.median(rates[name]) / statistics.median(rates[peer]),
            least,
        )
        for name, peer, least in BOUNDS
    ]
    found += [(f"{name}: two CPUs of one", ratio, TWO_CPUS) for name, ratio in speedups.items()]
    print()
    for what, ratio, least in found:
        print(f"{what}: {ratio:.2f} x, at least {least}{'' if ratio >= least else ': MISSED'}")
    return any(ratio < least for _, ratio, least in found)


def on_two_cpus(cpus: set[int], todo: list[tuple[str, Command, int, Path]]) -> dict[str, float]:
    """How many times faster each is on two CPUs than on one, by the time that passes."""
    times: dict[tuple[str, int], list[float]] = {}
    for _ in range(ROUNDS):
        for name, command, *_ in todo:
            for count in (1, 2):
                os.sched_setaffinity(0, sorted(cpus)[-count:])
                times.setdefault((name, count), []).append(measure_one(command)[2])
    median = statistics.median
    return {name: median(times[name, 1]) / median(times[name, 2]) for name, *_ in todo}
