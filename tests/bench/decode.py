# SPDX-License-Identifier: GPL-2.0
"""How fast blog-decode is, beside trace-cmd with the same records as TRACE_EVENT, and babeltrace2
with them as CTF, on one CPU, by turns.

The message is an ordinary one, "read 7 sectors at 0x1f40". What programs print goes to /dev/null,
what they write to files. Rates are records a second of CPU time (user and system), so other work
on the machine does not count as much; nor does it for the share of the busiest thread on two CPUs.
How many times faster two CPUs are is by the time that passes, so the machine must have nothing else
to do.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench import trace_dat

TOP = Path(__file__).resolve().parents[2]
RECORDS, ROUNDS, RINGS = 5_000_000, 3, 200
PEERS = ("trace-cmd", "babeltrace2")

Command = list[str | Path]


def once(command: Command) -> tuple[float, float, float]:
    """Seconds of CPU, seconds that have passed, and percent of CPU time of the busiest thread."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    threads: dict[str, int] = {}
    pid = 0
    while not pid:
        # Threads that end meanwhile
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for task in os.scandir(f"/proc/{process.pid}/task"):
                threads[task.name] = int(Path(task, "schedstat").read_text().split()[0])
        time.sleep(0.004)
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command}: exit status {process.returncode}")
    share = 100 * max(threads.values()) / sum(threads.values())
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, share


def commands(work: Path, decoder: Path) -> dict[str, Command]:
    """What is measured; what these read is made before."""
    files: dict[int, Command] = {}
    for rings in (1, RINGS):
        log = work / str(rings)
        log.mkdir(parents=True)
        make: Command = [
            "cargo", "run", "--quiet", "--release", "--offline", "--locked", "-p", "blog-decode",
            "--example", "biglog", "log", str(RECORDS), str(rings), log]  # fmt: skip
        subprocess.run(make, cwd=TOP, check=True)
        files[rings] = ["-s", log / "log.ko", log / "log.snap"]
    one, out = files[1], ("-o", work / "out")
    subprocess.run([decoder, "convert", "--to", "ctf", "-o", work / "ctf", *one], check=True)
    trace_dat.write(work / "trace.dat", RECORDS)
    return {
        "text": [decoder, "show", *one],
        f"text, {RINGS} rings": [decoder, "show", *files[RINGS]],
        "JSON": [decoder, "show", "--json", *one],
        "stats": [decoder, "stats", *one],
        "report": [decoder, "report", *out, *one],
        **{form: [decoder, "convert", "--to", form.lower(), *out, *one]
           for form in ("Perfetto", "CTF", "Parquet")},
        "trace-cmd": ["trace-cmd", "report", work / "trace.dat"],
        "babeltrace2": ["babeltrace2", work / "ctf"],
    }  # fmt: skip


def lines(command: Command) -> int:
    """How many it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        pipe = process.stdout
        return sum(part.count(b"\n") for part in iter(lambda: pipe.read(1 << 20), b""))


def measure(work: Path, decoder: Path) -> dict[str, dict[str, float]]:
    """Of each: millions of records a second of CPU time; how many times faster it is on two CPUs,
    and percent of the busiest thread there; bytes a record of what it writes."""
    shutil.rmtree(work, ignore_errors=True)
    todo = commands(work, decoder)
    for peer in PEERS:
        # trace-cmd prints a line about CPUs first.
        if (count := lines(todo[peer])) not in (RECORDS, RECORDS + 1):
            sys.exit(f"{peer} prints {count} lines, not {RECORDS}")
    cpus = sorted(os.sched_getaffinity(0))
    out, sizes = work / "out", {}
    found: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    for _ in range(ROUNDS):
        for name, command in todo.items():
            for count in (1,) if name in PEERS else (1, 2):
                os.sched_setaffinity(0, cpus[-count:])
                found.setdefault((name, count), []).append(once(command))
                if out.exists():
                    made = [path for path in (out, *out.rglob("*")) if path.is_file()]
                    sizes[name] = sum(path.stat().st_size for path in made) / RECORDS
                    (shutil.rmtree if out.is_dir() else os.remove)(out)
    os.sched_setaffinity(0, cpus)
    result = {}
    for name in todo:
        cpu, passed, _ = map(median, zip(*found[name, 1]))
        result[name] = {"M records/s": round(RECORDS / cpu / 1e6, 2)}
        if name not in PEERS:
            _, both, share = map(median, zip(*found[name, 2]))
            result[name] |= {"two CPUs": round(passed / both, 2), "busiest": round(share, 1)}
        if name in sizes:
            result[name]["bytes"] = round(sizes[name], 2)
    return result
