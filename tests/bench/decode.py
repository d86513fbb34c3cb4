# SPDX-License-Identifier: GPL-2.0
"""How fast blog-decode is, beside babeltrace2 with the same records as CTF, on one CPU, by turns.

The message is an ordinary one, "read 7 sectors at 0x1f40". Output goes to /dev/null. Rates are
records a second of CPU time (user and system), so other work on the machine does not count as
much. On two CPUs, time passes, so the machine must have nothing else to do.
"""

import os
import resource
import shutil
import subprocess
import time
from pathlib import Path
from statistics import median

TOP = Path(__file__).resolve().parents[2]
RECORDS, ROUNDS, RINGS = 2_000_000, 5, 200


def once(command: list[str | Path]) -> tuple[float, float]:
    """Seconds of CPU, and seconds that have passed."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    start, before = time.monotonic(), used()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return used() - before, time.monotonic() - start


def measure(work: Path, decoder: Path) -> dict[str, dict[str, float]]:
    """Millions of records a second of CPU time, and how many times faster it is on two CPUs."""
    shutil.rmtree(work, ignore_errors=True)
    commands: dict[str, list[str | Path]] = {}
    for rings in (1, RINGS):
        log = work / str(rings)
        log.mkdir(parents=True)
        make: list[str | Path] = [
            "cargo", "run", "--quiet", "--release", "--offline", "--locked", "-p", "blog-decode",
            "--example", "biglog", "log", str(RECORDS), str(rings), log]  # fmt: skip
        subprocess.run(make, cwd=TOP, check=True)
        files: list[str | Path] = ["-s", log / "log.ko", log / "log.snap"]
        commands[f"text, {rings} rings"] = [decoder, "show", *files]
    one = commands["text, 1 rings"][2:]
    commands["JSON"] = [decoder, "show", "--json", *one]
    commands["stats"] = [decoder, "stats", *one]
    subprocess.run([decoder, "convert", "--to", "ctf", "-o", work / "ctf", *one], check=True)
    commands["babeltrace2"] = ["babeltrace2", work / "ctf"]
    cpus = sorted(os.sched_getaffinity(0))
    used: dict[str, list[float]] = {name: [] for name in commands}
    passed: dict[tuple[str, int], list[float]] = {}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            for count in (1, 2):
                os.sched_setaffinity(0, cpus[-count:])
                cpu, time_passed = once(command)
                passed.setdefault((name, count), []).append(time_passed)
                if count == 1:
                    used[name].append(cpu)
    os.sched_setaffinity(0, cpus)
    return {
        name: {
            "M records/s": round(RECORDS / median(used[name]) / 1e6, 2),
            "two CPUs": round(median(passed[name, 1]) / median(passed[name, 2]), 2),
        }
        for name in commands
    }
