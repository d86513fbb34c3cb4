# SPDX-License-Identifier: GPL-2.0
"""How fast decoders are: blog-decode beside trace-cmd and babeltrace2, each with its own
logger's file of the same calls, on one CPU, in one run, by turns.

Output goes to /dev/null. Before it is measured, each command runs once with its lines counted,
so that all do the same work. Rates are records a second of CPU time (user and system), so that
other work on the machine does not count as much. Memory is the largest VmHWM seen. Then some run
on two CPUs and on one, by turns: there, time passes, so the machine must have nothing else to do.

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

TOP = Path(__file__).resolve().parents[2]
RINGS = 200
PEER = "trace-cmd report: TRACE_EVENT"
# How many times the rate of that, at least
BOUNDS = {
    "blog-decode: text": 10,
    "blog-decode: JSON": 5,
    f"blog-decode: text, {RINGS} rings": 8.5,
    "blog-decode: stats": 15,
}
# What is measured on two CPUs, and how many times one CPU's rate that must be
ON_TWO = ("blog-decode: text", "blog-decode: JSON", f"blog-decode: text, {RINGS} rings")
TWO_CPUS = 1.7

Command = list[str | Path]


def programs(work: Path) -> dict[str, Path]:
    """Debian's trace-cmd, for the guest; the libraries that it loads get into work/trace-cmd."""
    found = shutil.which("trace-cmd")
    if not found:
        sys.exit("no trace-cmd: run scripts/setup --tests")
    shutil.rmtree(work / "trace-cmd", ignore_errors=True)
    (work / "trace-cmd").mkdir()
    said = subprocess.run(["ldd", found], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"=> (/\S+)", said):
        shutil.copy(library, work / "trace-cmd")
    loaders = re.findall(r"^\s*(/\S*ld-linux\S*)", said, re.MULTILINE)
    return {"bin/trace-cmd": Path(found)} | {path[1:]: Path(path) for path in loaders}


def prepare(work: Path, decoder: Path) -> None:
    """What is read besides what the guest has left in work/out: BLog's records as CTF, and a
    log of 16 rings; one task's ring needs no merging."""
    out = work / "out"
    for table in (work / "module").glob("*.blogfmt"):
        shutil.copy(table, out)
    convert: Command = [
        decoder,
        "convert",
        "--to",
        "ctf",
        "-o",
        out / "ctf",
        "-s",
        out,
        out / "blog.snap",
    ]
    subprocess.run(convert, check=True)
    manifest = TOP / "tools/blog-decode/Cargo.toml"
    subprocess.run(
        ["cargo", "test", "--quiet", "--offline", "--locked", "--test", "biglog",
         "--manifest-path", manifest], check=True, stdout=subprocess.DEVNULL,
        env=os.environ | {"BLOG_BIG_LOG": f"{lines(show(decoder, out))} {RINGS} {out}"})  # fmt: skip


def show(decoder: Path, out: Path, *options: str) -> Command:
    return [decoder, "show", *options, "-s", out, out / "blog.snap"]


def commands(decoder: Path, out: Path) -> Iterator[tuple[str, Command, int | None, Path]]:
    """What is measured: name, command, lines for each record (0: few in all), what it reads."""
    snap, log = out / "blog.snap", out / "log.snap"
    of_log: Command = ["-s", out / "log.ko", log]
    yield "blog-decode: text", show(decoder, out), 1, snap
    yield "blog-decode: stats", [decoder, "stats", "-s", out, snap], 0, snap
    yield "blog-decode: JSON", show(decoder, out, "--json"), 1, snap
    yield f"blog-decode: text, {RINGS} rings", [decoder, "show", *of_log], 1, log
    yield f"blog-decode: stats, {RINGS} rings", [decoder, "stats", *of_log], 0, log
    for name, file in (("TRACE_EVENT", out / "event.dat"), ("trace_printk", out / "printk.dat")):
        yield f"trace-cmd report: {name}", ["trace-cmd", "report", file], 1, file
    babeltrace: Command = ["babeltrace2", out / "ctf"]
    yield "babeltrace2: BLog as CTF", babeltrace, 1, out / "ctf"
    only = [*babeltrace, "--output-format=dummy"]
    yield "babeltrace2: BLog as CTF, decoded only", only, None, out / "ctf"


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


def measure(work: Path, decoder: Path, rounds: int) -> bool:
    """Prints a table; True if a bound is missed."""
    out = work / "out"
    prepare(work, decoder)
    todo = list(commands(decoder, out))
    records = lines(show(decoder, out))
    for name, command, per_record, _ in todo:
        # trace-cmd prints a line about CPUs first.
        if per_record and (got := lines(command)) not in (records, records + 1):
            sys.exit(f"{name}: {got} lines, not {records}")
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    samples: dict[str, list[tuple[float, int, float]]] = {name: [] for name, *_ in todo}
    for _ in range(rounds):
        for name, command, *_ in todo:
            samples[name].append(measure_one(command))
    speedups = on_two_cpus(cpus, [c for c in todo if c[0] in ON_TWO], rounds)
    os.sched_setaffinity(0, cpus)
    versions = ", ".join(map(version, (str(decoder), "trace-cmd", "babeltrace2")))
    print(f"{records} records of two scalars, {rounds} rounds on one CPU; {versions}\n")
    head = ("min", "median", "max", "MiB")
    print(f"{'M records/s of CPU time':<42}", *(f"{word:>6}" for word in head), "bytes/record")
    rates = {name: [records / cpu / 1e6 for cpu, *_ in of] for name, of in samples.items()}
    for name, _, _, path in todo:
        median, peak = statistics.median(rates[name]), max(kib for _, kib, _ in samples[name])
        print(f"{name:<42} {min(rates[name]):6.2f} {median:6.2f} {max(rates[name]):6.2f} "
              f"{peak / 1024:6.1f} {size(path) / records:12.1f}")  # fmt: skip
    peer = statistics.median(rates[PEER])
    found = [
        (f"{name}: of {PEER}", statistics.median(rates[name]) / peer, least)
        for name, least in BOUNDS.items()
    ]
    found += [(f"{name}: two CPUs of one", ratio, TWO_CPUS) for name, ratio in speedups.items()]
    print()
    for what, ratio, least in found:
        print(f"{what}: {ratio:.2f} x, at least {least}{'' if ratio >= least else ': MISSED'}")
    return any(ratio < least for _, ratio, least in found)


def on_two_cpus(
    cpus: set[int], todo: list[tuple[str, Command, int | None, Path]], rounds: int
) -> dict[str, float]:
    """How many times faster each is on two CPUs than on one, by the time that passes."""
    times: dict[tuple[str, int], list[float]] = {}
    for _ in range(rounds):
        for name, command, *_ in todo:
            for count in (1, 2):
                os.sched_setaffinity(0, sorted(cpus)[-count:])
                times.setdefault((name, count), []).append(measure_one(command)[2])
    median = statistics.median
    return {name: median(times[name, 1]) / median(times[name, 2]) for name, *_ in todo}
