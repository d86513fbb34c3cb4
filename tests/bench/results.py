# SPDX-License-Identifier: GPL-2.0
"""What a guest measured, as docs/results.json has it: medians of all rounds, without loops."""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

Result = dict[str, Any]

MIB = 1 << 20

# The empty loop that is taken off, if it isn't "empty"
EMPTY = {
    "none": "none_empty",
    **dict.fromkeys(
        ("blog_c_on", "blog_c_off", "clock_local", "trace_printk", "event_on", "event_off",
         "pr_debug_on", "pr_debug_off"), "loop"),
}  # fmt: skip
# The clock that a logger reads
CLOCKS = {"blog_on": "clock_counter", "event_on": "clock_local", "trace_printk": "clock_local"}

Cases = dict[tuple[str, str], list[float]]


def differences(cases: Cases, name: str, context: str) -> list[float]:
    """What a case cost in each round, without its loop; none where that wasn't measured."""
    what, shape = name.split(".")
    empty = cases.get((f"{EMPTY.get(what, 'empty')}.{shape}", context), [])
    return [a - b for a, b in zip(cases.get((name, context), []), empty)]


def read(folder: Path, unit: str) -> Result:
    """Costs of a boot, by case and context, then by arguments; those of single records."""
    cases: Cases = defaultdict(list)
    single: dict[str, list[float]] = defaultdict(list)
    clocks, each, mark = [], [], ""
    for line in (folder / "results").read_text().splitlines():
        match line.split():
            case ["mark", name]:
                mark = f" {name}"
            case ["case", name, context, n, ticks]:
                cases[name, context + mark].append(int(ticks) / int(n))
            case ["each", ticks]:
                each.append(int(ticks))
            case ["new", first, _]:
                single["first record"].append(int(first))
            case ["many", count, ticks]:
                single["record to many components"].append(int(ticks) / int(count))
            case ["clocks", ticks, ns]:
                clocks.append((int(ticks), int(ns)))
            case _:
                raise ValueError(f"{folder}/results: unknown line: {line}")
    if each:
        # Every 200th turns the page.
        plain = median(each)
        single["page turn"] = [ticks - plain for ticks in each if ticks > 3 * plain]
    scale = 1.0
    if unit == "ns":
        (t0, ns0), (t1, ns1) = clocks[0], clocks[-1]
        scale = (ns1 - ns0) / (t1 - t0)
    costs: dict[str, dict[str, float]] = defaultdict(dict)
    for name, context in cases:
        what, shape = name.split(".")
        rounds = differences(cases, name, context)
        if rounds and what not in ("empty", "none_empty", "loop"):
            costs[f"{what} {context}"][shape] = round(median(rounds) * scale, 2)
    lines = (folder / "facts").read_text().splitlines()
    result: Result = {"costs": costs, "unit": unit, **dict(line.split(" ", 1) for line in lines)}
    result["single"] = {name: round(median(n) * scale, 2) for name, n in single.items()}
    if unit == "ns":
        result["beyond the clock"] = {
            what: round(scale * median(a - b for a, b in zip(
                differences(cases, f"{what}.2", "task"),
                differences(cases, f"{clock}.0", "task"))), 2)
            for what, clock in CLOCKS.items()
        }  # fmt: skip
    return result


def record_bytes(folder: Path, decoder: Path, tables: Path) -> dict[str, dict[str, float]]:
    """Bytes of a record, by logger and arguments: of how many fit into a buffer of 1 MiB.

    The guest fills each buffer with one kind of record until all else is overwritten. blog-decode
    counts what is left, and the tracer's stats file.
    """
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for path in folder.glob("*.*"):
        logger, shape = path.name.split(".")
        if logger == "blog":
            command: list[str | Path] = [decoder, "stats", "--json", "-s", tables, path]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            rings = [json.loads(line) for line in out.splitlines()]
            tasks = [r for r in rings if r["type"] == "ring" and r["context"] == "task"]
            records, size = max(int(r["records"]) for r in tasks), MIB
        else:
            records = int(re.findall(r"^entries: (\d+)$", path.read_text(), re.MULTILINE)[0])
            size = 1024 * int((folder / "buffer_size_kb").read_text().split()[0])
        found[logger][shape] = round(size / records, 2)
    return found


def fio(folder: Path) -> dict[str, dict[str, float]]:
    """I/Os a second, by engine and way."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for path in folder.glob("*.json"):
        engine, way, _ = path.name.split(".")
        text = path.read_text()
        # fio may print something before the JSON.
        job = json.loads(text[text.index("{") :])["jobs"][0]
        found[engine][way] = round(job["read"]["iops"] + job["write"]["iops"])
    return found
