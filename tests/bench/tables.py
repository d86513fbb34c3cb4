# SPDX-License-Identifier: GPL-2.0
"""Tables of docs/results.json, and the pages that have them.

In a page, ".. bench: NAME" comes before the literal block with a table, in README.md
"<!-- bench: NAME -->" before a table, and in patches/cover/ "@bench NAME" before indented
lines. into() writes what comes after these marks.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.bounds import LTTNG, verdicts
from bench.results import Result

TOP = Path(__file__).resolve().parents[2]
KEPT = TOP / "docs/results.json"
PAGES = (
    "README.md", "docs/cost-tables.rst", "docs/stock.rst", "Documentation/blog/cost.rst",
    *(f"patches/cover/{name}" for name in ("first", "pointer", "capture", "ccall", "more")))  # fmt: skip

Results = dict[str, Result]

# Kinds of records, see docs/cost-tables.rst
SHAPES = ("0", "2", "4", "8", "str11", "str64")
COSTS = {
    "clock_counter task": "reading the counter",
    "clock_mono task": "reading the monotonic clock",
    "clock_local task": "reading ftrace's clock",
    "blog_on task": "blog_log!, task",
    "blog_on softirq": "blog_log!, softirq",
    "blog_on hardirq": "blog_log!, hardirq",
    "blog_site_off task": "blog_log!, site off",
    "blog_component_off task": "blog_log!, component off",
    "blog_c_on task": "blog_log() of C",
    "blog_c_off task": "blog_log() of C, component off",
    "none task": "blog_log!, CONFIG_BLOG=n",
    "event_off task": "TRACE_EVENT, off",
    "event_on task": "TRACE_EVENT",
    "event_on softirq": "TRACE_EVENT, softirq",
    "event_on hardirq": "TRACE_EVENT, hardirq",
    "trace_printk task": "trace_printk",
    "trace_printk softirq": "trace_printk, softirq",
    "trace_printk hardirq": "trace_printk, hardirq",
    "pr_debug_off task": "pr_debug, off",
    "pr_debug_on task": "pr_debug, on, console quiet",
    "blog_on turns_1024": "blog_log!, 1024 tasks by turns",
    "event_on turns_1024": "TRACE_EVENT, 1024 tasks by turns",
    "blog_on turns_1024 default_size": "blog_log!, 1024 tasks, of 1 MiB",
}
SITES = {"blog": "blog_log!", "blog_err": "blog_err!", "blog_c": "blog_log() of C",
         "trace_printk": "trace_printk", "pr_debug": "pr_debug", "event": "TRACE_EVENT"}  # fmt: skip
LOGGERS = {"blog": "BLog", "event_on": "TRACE_EVENT", "trace_printk": "trace_printk"}
WAYS = {
    "plain": "without BLog",
    "blog_off": "BLog compiled in, off",
    "blog_on": "BLog, each I/O twice",
}


def cell(number: float | None) -> str:
    """A number with three digits or so."""
    if number is None:
        return ""
    if 0 < abs(number) < 5 and number != round(number):
        return f"{number:.2f}"
    number = round(number, 1) + 0.0
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.1f}"


def layout(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they must be; numbers to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, ["-" * width for width in widths], *rows]:
        first = row[0].ljust(widths[0])
        lines.append("  ".join([first, *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def where(setup: str, result: Result) -> str:
    """What was measured where, on what, and of which commit."""
    clock = f" BLog's clock: {result['clock']};" if "clock" in result else ""
    kernel = f" Linux {result['kernel']};" if "kernel" in result else ""
    busy = "; NOT QUIET: other work disturbed it" if result.get("load", 0) > 0.3 else ""
    return f"{setup}, {result['date']};{clock} {result['cpu']};{kernel} BLog {result['commit']}{busy}\n\n"


def shown(result: Result) -> list[str]:
    """The cases of COSTS, without those of interrupts that cost what they do in a task."""
    rows = {case: list(map(cell, row.values())) for case, row in result["costs"].items()}
    return [case for case in COSTS if case in rows
            and ("irq" not in case or rows[case] != rows[f"{case.split()[0]} task"])]  # fmt: skip


def costs(setup: str, result: Result) -> str:
    """One line for each way to log, one column for each list of arguments."""
    rows = [[COSTS[case], *(cell(result["costs"][case].get(shape)) for shape in SHAPES)]
            for case in shown(result)]  # fmt: skip
    text = where(setup, result) + layout([f"{result['unit']}, median", *SHAPES], rows)
    for name, value in result["single"].items():
        text += f"{name}: {cell(value)} {result['unit']}\n"
    for what, value in result.get("beyond the clock", {}).items():
        text += f"{COSTS[f'{what} task']}, 2, beyond the clock: {cell(value)} {result['unit']}\n"
    return text


def sizes(setup: str, result: Result) -> str:
    """Bytes of a record; page headers and padding are in them."""
    rows = []
    for logger, name in LOGGERS.items():
        found = [result["bytes"].get(logger, {}).get(shape) for shape in SHAPES]
        rows.append([name, *(f"{n:.2f}" if n else "" for n in found)])
    return where(setup, result) + layout(["bytes a record, all in", *SHAPES], rows)


def site_table(setup: str, result: Result) -> str:
    columns = ("code", "data", "unwind tables", "sum")
    rows = [[name, *(f"{result['sites'][kind][column]:.0f}" for column in columns)]
            for kind, name in SITES.items()]  # fmt: skip
    return where(setup, result) + layout(["loaded bytes of a call site", *columns], rows)


def fio_table(setup: str, result: Result) -> str:
    rows = [
        [f"{engine}: {name}", f"{ways[way]}", f"{100 * ways[way] / ways['blog_off']:.1f} %"]
        for engine, ways in sorted(result["fio"].items())
        for way, name in WAYS.items()
    ]
    return where(setup, result) + layout(["fio on rnull", "IOPS", "of BLog off"], rows)


def decode_table(setup: str, result: Result) -> str:
    columns = ("M records/s", "two CPUs", "busiest", "bytes")
    rows = [
        [name, *(str(row.get(column, "")) for column in columns)]
        for name, row in result["decode"].items()
    ]
    return where(setup, result) + layout(["decoding", *columns], rows)


def bounds_table(setup: str, result: Result) -> str:
    head = where(setup, result)
    return head + layout(["bound", "measured", ""], list(verdicts(setup, result)))


def show(setup: str, result: Result) -> str:
    """All tables of one result."""
    return "\n".join(
        table(setup, result) for part, table in PARTS.items() if part == "bounds" or part in result)  # fmt: skip


PARTS: dict[str, Callable[[str, Result], str]] = {
    "costs": costs, "bytes": sizes, "sites": site_table, "fio": fio_table, "decode": decode_table,
    "bounds": bounds_table}  # fmt: skip


def lttng() -> str:
    rows = [["instructions", *(cell(n) for n in LTTNG["instructions"].values())],
            ["bytes a record, all in", *(f"{n:.2f}" for n in LTTNG["bytes"].values())]]  # fmt: skip
    return layout(["LTTng", *LTTNG["bytes"]], rows)


# What it is called, its case, its bytes, its call site
SUMMARY = [
    ("blog_log!", "blog_on", "blog", "blog"),
    ("blog_log() of C", "blog_c_on", "blog", "blog_c"),
    ("LTTng", "", "", ""),
    ("TRACE_EVENT", "event_on", "event_on", "event"),
    ("trace_printk", "trace_printk", "trace_printk", "trace_printk"),
    ("pr_debug, on", "pr_debug_on", "", "pr_debug"),
    ("blog_log!, site off", "blog_site_off", "", ""),
    ("blog_log!, component off", "blog_component_off", "", ""),
    ("TRACE_EVENT, off", "event_off", "", ""),
    ("pr_debug, off", "pr_debug_off", "", ""),
]


def summary_rows(results: Results) -> list[list[str]]:
    """A record of two scalars in a task, by all that was measured of it."""
    own, stock, native = (results[name] for name in ("instructions", "stock", "native"))
    rows = []
    for name, case, logger, site in SUMMARY:
        instructions, debian, ns = (
            result["costs"].get(f"{case} task", {}).get("2") for result in (own, stock, native)
        )
        size = own["bytes"].get(logger, {}).get("2")
        if name == "LTTng":
            instructions, size = LTTNG["instructions"]["2"], LTTNG["bytes"]["2"]
        of_site = own["sites"].get(site, {}).get("sum")
        beyond = native["beyond the clock"].get(case)
        rows.append([name, cell(debian), cell(instructions), cell(ns), cell(beyond),
                     f"{size:.1f}" if size else "", f"{of_site:.0f}" if of_site else ""])  # fmt: skip
    return rows


def summary(results: Results) -> str:
    head = "".join(where(name, results[name])[:-1] for name in ("stock", "instructions", "native"))
    header = ["u32 and u64", "Debian's kernel", "instructions", "ns", "beyond the clock", "bytes",
              "of a site"]  # fmt: skip
    return f"{head}\n{layout(header, summary_rows(results))}"


def readme(results: Results) -> str:
    lines = ["| | Debian's kernel, mitigations on | own kernel, mitigations off | bytes |",
             "| --- | ---: | ---: | ---: |"]  # fmt: skip
    for name, debian, own, _, _, size, _ in summary_rows(results):
        lines.append(f"| {name} | {debian} | {own} | {size} |")
    return "\n".join(lines) + "\n"


def beside(results: Results) -> str:
    """What hooks save: Debian's own kernel beside one with patches."""
    found = [results[name] for name in ("stock", "instructions")]
    cases = ["blog_on task", "blog_on softirq", "blog_c_on task", "blog_site_off task",
             "blog_component_off task", "event_on task", "trace_printk task"]  # fmt: skip
    rows = [[COSTS[case], *(cell(r["costs"][case]["2"]) for r in found)] for case in cases]
    rows += [[f"a {name}", *(cell(r["single"].get(name)) for r in found)]
             for name in ("first record", "page turn")]  # fmt: skip
    rows.append(["bytes in the ring", *(f"{r['bytes']['blog']['2']:.2f}" for r in found)])
    head = "".join(where(name, results[name])[:-1] for name in ("stock", "instructions"))
    return head + "\n" + layout(["2 scalars", "Debian's own", "with patches"], rows)


def calls(results: Results) -> str:
    """The most important costs, in a few columns."""
    own, columns = results["instructions"], ("0", "2", "4", "str11")
    cases = [case for case in shown(own) if "clock" not in case and "turns" not in case]
    rows = [[COSTS[case], *(cell(own["costs"][case].get(column)) for column in columns)]
            for case in cases]  # fmt: skip
    rows += [[f"a {name}", "", cell(own["single"][name]), "", ""]
             for name in ("first record", "page turn")]  # fmt: skip
    return layout(["instructions", *columns], rows)


def of(name: str, setup: str) -> Callable[[Results], str]:
    return lambda results: PARTS[name](setup, results[setup])


def short(table: Callable[[Results], str]) -> Callable[[Results], str]:
    """Without the lines above it."""
    return lambda results: table(results).partition("\n\n")[2]


TABLES: dict[str, Callable[[Results], str]] = {
    "fio": of("fio", "fio"),
    "decode": of("decode", "decode"),
    **{f"{part}-{setup}": of(part, setup)
       for part in PARTS for setup in ("instructions", "stock", "native")},
    **{f"short-{part}": short(of(part, "instructions")) for part in ("bytes", "sites")},
    "short-fio": short(of("fio", "fio")),
    "lttng": lambda _: lttng(),
    "summary": summary,
    "readme": readme,
    "stock": beside,
    "calls": calls,
}  # fmt: skip
MARK = re.compile(r"^(\.\. bench: |<!-- bench: |@bench )([\w-]+)(?: -->)?\n", re.MULTILINE)


def into(text: str, results: Results) -> str:
    """The text with its tables made anew."""

    def made(match: re.Match[str]) -> str:
        table = TABLES[match[2]](results).rstrip() + "\n"
        mark = match[0].partition("\n")[0]
        if match[1].startswith("<"):
            return f"{mark}\n\n{table}\n"
        table = re.sub("^(?=.)", "  ", table, flags=re.MULTILINE)
        literal = "::\n\n" if match[1].startswith(".") else ""
        return f"{mark}\n\n{literal}{table}\n"

    # The block ends at the next line that is neither indented nor part of a table of Markdown.
    return re.sub(MARK.pattern + r"(?:(?:::| .*|\|.*|)\n)*", made, text, flags=re.MULTILINE)


def write() -> None:
    """Puts the tables of docs/results.json into the pages."""
    results = json.loads(KEPT.read_text())
    for name in PAGES:
        (TOP / name).write_text(into((TOP / name).read_text(), results))
