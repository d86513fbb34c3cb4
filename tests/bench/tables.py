# SPDX-License-Identifier: GPL-2.0
"""Tables of what was measured, for people."""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import endtoend, plot, reading, traffic
from bench.bounds import Bounds, Verdict
from bench.samples import Missing, Run, Value, read_facts

# (case, context, mark, what it is called)
ROWS = [
    ("clock_counter", "task", "", "reading the counter"),
    ("clock_mono", "task", "", "reading the monotonic clock"),
    ("clock_local", "task", "", "reading ftrace's clock"),
    ("blog_on", "task", "", "blog_log!, task"),
    ("blog_on", "softirq", "", "blog_log!, softirq"),
    ("blog_on", "hardirq", "", "blog_log!, hardirq"),
    ("blog_site_off", "task", "", "blog_log!, site off"),
    ("blog_component_off", "task", "", "blog_log!, component off"),
    ("blog_c_on", "task", "", "blog_log() of C"),
    ("blog_c_off", "task", "", "blog_log() of C, component off"),
    ("none", "task", "", "blog_log!, CONFIG_BLOG=n"),
    ("function_call", "task", "", "a function with a call"),
    ("event_off", "task", "", "TRACE_EVENT, off"),
    ("event_on", "task", "", "TRACE_EVENT"),
    ("event_on", "softirq", "", "TRACE_EVENT, softirq"),
    ("event_on", "hardirq", "", "TRACE_EVENT, hardirq"),
    ("event_on", "task", "mono", "TRACE_EVENT, monotonic clock"),
    ("trace_printk", "task", "", "trace_printk"),
    ("trace_printk", "softirq", "", "trace_printk, softirq"),
    ("trace_printk", "hardirq", "", "trace_printk, hardirq"),
    ("trace_printk", "task", "mono", "trace_printk, monotonic clock"),
    ("pr_debug_off", "task", "", "pr_debug, off"),
    ("pr_debug_on", "task", "", "pr_debug, on, console quiet"),
]


def cell(number: float) -> str:
    """A number with three digits or so."""
    if 0 < abs(number) < 5 and number != round(number):
        return f"{number:.2f}"
    number = round(number, 1) + 0.0
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.1f}"


def layout(header: list[str], rows: list[list[str]]) -> str:
    """Columns as wide as they must be; numbers to the right."""
    widths = [max(len(str(r[i])) for r in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, ["-" * w for w in widths], *rows]:
        first = str(row[0]).ljust(widths[0])
        lines.append("  ".join([first, *(str(c).rjust(w) for c, w in zip(row[1:], widths[1:]))]))
    return "\n".join(line.rstrip() for line in lines)


def where(facts: dict[str, str], what: str) -> str:
    """What was measured where, on what, and of which commit."""
    kernel = [f"Linux {facts['release']}"] if "release" in facts else []
    words = [what, facts.get("cpu", "?"), *kernel, f"BLog {facts.get('commit', '?')}"]
    return "; ".join(words) + "\n"


def known(
    measure: Callable[..., Value | float], *args: str, show: Callable[[float], str] = cell
) -> str:
    """A number, or nothing if it was not measured."""
    try:
        found = measure(*args)
    except Missing:
        return ""
    return show(found.median if isinstance(found, Value) else found)


def head(run: Run, what: str = "") -> str:
    """What a table of a run begins with."""
    return where(run.facts, what or run.setup) + disturbed(run)


def costs(run: Run) -> str:
    """One line for each way to log, one column for each list of arguments."""
    rows = []
    for what, context, mark, label in ROWS:
        cells = [known(run.cost, what, shape, context, mark) for shape in traffic.SHAPES]
        if any(cells):
            rows.append([label, *cells])
    text = layout([f"{run.unit}, median", *traffic.SHAPES], rows) if rows else ""
    if why := missing_peers(run):
        text += "\n" + "\n".join(why)
    text = head(run, f"{run.setup}, BLog's clock: {run.clock}") + (f"\n{text}\n" if text else "")
    for value in details(run):
        text += f"{value.name}: {cell(value.median)} {value.unit}"
        text += f" ({cell(value.min)} to {cell(value.max)})\n"
    return text


def missing_peers(run: Run) -> list[str]:
    """Why what isn't in the table could not run in this setup."""
    why = []
    if run.has("blog_on", "2") and not run.has("trace_printk", "2"):
        why.append("No trace_printk and TRACE_EVENT: this kernel is built without tracing.")
    if run.has("event_on", "2"):
        why.append("TRACE_EVENT without arguments: an event has at least one field.")
    return why


def disturbed(run: Run) -> str:
    """A line about what else the machine did, where that matters: nothing, or very little."""
    others = int(run.facts.get("others", 0))
    if run.unit == "instructions" or others < 5:
        return ""
    return f"NOT QUIET: something else used {others} % of a CPU meanwhile, so times mean little.\n"


def details(run: Run) -> Iterator[Value]:
    """Single values beside the table."""
    yield from beyond_clocks(run)
    if run.each:
        yield from run.page_turns()
        yield from run.first_records()
    with contextlib.suppress(Missing):
        yield run.cost("blog_on", "2", "turns_1024", "default_size")
    with contextlib.suppress(Missing):
        yield run.many_components()


def beyond_clocks(run: Run) -> Iterator[Value]:
    """What records of two scalars cost beyond reading the clock."""
    for what in ("blog_on", "event_on", "trace_printk"):
        with contextlib.suppress(Missing):
            yield run.beyond(what, "2")


def verdicts(found: list[Verdict]) -> str:
    rows = [[v.bound, v.setup, v.measured, v.state] for v in found]
    return layout(["bound", "setup", "measured", ""], rows) + "\n"


# What a buffer or a call site is of
LOGGERS = {
    "blog": "BLog",
    "event_on": "TRACE_EVENT",
    "trace_printk": "trace_printk",
}
SITES = {
    "blog": "blog_log!",
    "blog_err": "blog_err!",
    "blog_c": "blog_log() of C",
    "event": "TRACE_EVENT",
}


def bytes_table(run: Run) -> str:
    """Records in 1 MiB, and bytes for each; page headers and padding are in them."""
    rows = []
    for key, name in LOGGERS.items():
        cells = [run.traffic[key].get(shape) for shape in traffic.SHAPES]
        if any(cells):
            rows.append([name, *(f"{traffic.MIB / n:.2f}" if n else "" for n in cells)])
            rows.append(["  records per MiB", *(f"{n:.0f}" if n else "" for n in cells)])
    if not rows:
        return ""
    table = layout(["bytes a record, all in", *traffic.SHAPES], rows)
    return head(run) + f"\n{table}\n"


def lttng_table() -> str:
    costs, sizes = zip(*traffic.LTTNG.values())
    rows = [
        ["instructions", *map(cell, costs)],
        ["bytes a record, all in", *map("{:.2f}".format, sizes)],
    ]
    return layout(["LTTng", *traffic.LTTNG], rows) + "\n"


def fio_table(run: Run) -> str:
    rows = []
    found = {v.name: v for v in endtoend.values(run)}
    for engine in sorted(endtoend.read(run)):
        for way, label in endtoend.WAYS.items():
            if value := found.get(f"fio_{engine}.{way}"):
                share = found.get(f"fio_{engine}.{way}.share")
                of_off = f"{share.median:.1f} %" if share else ""
                rows.append([f"{engine}: {label}", f"{value.median:.0f}", of_off])
    if not rows:
        return ""
    table = layout(["fio on rnull", "IOPS", "of BLog off"], rows)
    return head(run) + f"\n{table}\n"


def reading_table(run: Run) -> str:
    """What reading costs, and what it costs those who log meanwhile."""
    if not (rows := reading.lines(run)):
        return ""
    each = "instructions" if run.unit == "instructions" else "ns"
    header = ["reading", "KiB a read", "MB", f"{each} a byte", "GB/s", "longest read, ms"]
    text = layout(header, rows)
    if rows := reading.writers(run):
        text += "\n\n" + layout([f"{each} a record, read", *reading.MARKS.values()], rows)
    return head(run) + f"\n{text}\n"


def turns_table(run: Run) -> str:
    """What a record costs where many tasks log by turns."""
    rows = []
    for tasks in TURNS:
        cells = [known(run.cost, case, "2", f"turns_{tasks}") for case in LABELS.values()]
        if any(cells):
            rows.append([str(tasks), *cells])
    if not rows:
        return ""
    table = layout([f"{run.unit} a record, by tasks", *LABELS], rows)
    return head(run) + f"\n{table}\n"


def sites_table(run: Run) -> str:
    """What a call site takes, by what it is for."""
    rows, header = [], []
    for kind in run.sites:
        if kind != "empty":
            parts = traffic.site_bytes(run.sites, kind)
            header = list(parts)
            rows.append([SITES.get(kind, kind), *(f"{n:.0f}" for n in parts.values())])
    if not rows:
        return ""
    table = layout(["loaded bytes of a call site", *header], rows)
    return head(run) + f"\n{table}\n"


# (what it is called, case, buffer, call site): the loggers on one page
SUMMARY = [
    ("blog_log!", "blog_on", "blog", "blog"),
    ("TRACE_EVENT", "event_on", "event_on", "event"),
    ("trace_printk", "trace_printk", "trace_printk", "trace_printk"),
    ("pr_debug, on", "pr_debug_on", "", "pr_debug"),
    ("blog_log!, site off", "blog_site_off", "", ""),
    ("blog_log!, component off", "blog_component_off", "", ""),
    ("TRACE_EVENT, off", "event_off", "", ""),
    ("pr_debug, off", "pr_debug_off", "", ""),
]


def summary(counted: Run, native: Run) -> str:
    """A record of two scalars in a task, by all that was measured of it."""

    def site_sum(site: str) -> float:
        return traffic.site_bytes(counted.sites, site)["sum"]

    rows = []
    for label, case, buffer, site in SUMMARY:
        records = counted.traffic.get(buffer, {}).get("2")
        measures = (counted.cost, native.cost, native.beyond)
        numbers = [known(measure, case, "2") for measure in measures]
        size = f"{traffic.MIB / records:.1f}" if records else ""
        rows.append([label, *numbers, size, known(site_sum, site, show="{:.0f}".format)])
    instructions, in_buffer = traffic.LTTNG["2"]
    rows.insert(1, ["LTTng", cell(instructions), "", "", f"{in_buffer:.1f}", ""])
    header = ["u32 and u64", "instructions", "ns", "beyond the clock", "bytes", "of a site"]
    heads = head(counted, "instructions and bytes") + head(native, "ns")
    return f"{heads}\n{layout(header, rows)}\n"


# So many tasks take turns.
TURNS = (1, 64, 256, 1024)

# What is in plots: kinds of records; and for each logger but LTTng, its case
PLOTTED = {"2": "u32 and u64", "rnull": "four scalars, as rnull", "str11": "string of 11 bytes"}
LABELS = {
    "BLog": "blog_on",
    "TRACE_EVENT": "event_on",
    "trace_printk": "trace_printk",
}


def instructions_plot(run: Run) -> str:
    groups = [
        (
            name,
            [
                (label, run.cost(case, shape).median)
                for label, case in LABELS.items()
                if run.has(case, shape)
            ]
            + [("LTTng", traffic.LTTNG[shape][0])],
        )
        for shape, name in PLOTTED.items()
    ]
    return plot.bars("Instructions of a record, in a task", groups)


def all_values(run: Run) -> Iterator[Value]:
    """Everything of a run that results.json has."""
    yield from run.costs()
    yield from details(run)
    yield from endtoend.values(run)
    yield from reading.values(run)
    for logger, shapes in run.traffic.items():
        for shape, records in shapes.items():
            yield run.make(f"bytes_{logger}.{shape}", [traffic.MIB / records], "bytes")
    for kind in run.sites:
        for part, size in traffic.site_bytes(run.sites, kind).items():
            yield run.make(f"site_{kind}.{part.replace(' ', '_')}", [size], "bytes")


def write(out: Path, runs: list[Run], found: Bounds) -> None:
    """Leaves results.json, a text file for each table, and plots in `out`; `found`: the bounds."""
    texts, by_setup = {"lttng": lttng_table()}, {run.setup: run for run in runs}
    for run in runs:
        texts[f"costs-{run.setup}"] = costs(run)
        texts[f"bytes-{run.setup}"] = bytes_table(run)
        texts[f"fio-{run.setup}"] = fio_table(run)
        texts[f"turns-{run.setup}"] = turns_table(run)
        own = [verdict for verdict in found.verdicts if verdict.setup == run.setup]
        texts[f"bounds-{run.setup}"] = head(run) + "\n" + verdicts(own)
    if read := by_setup.get("reading"):
        texts["reading"] = reading_table(read)
    if counted := by_setup.get("counted"):
        texts["sites"] = sites_table(counted)
        (out / "cost-instructions.svg").write_text(instructions_plot(counted))
        if native := by_setup.get("native"):
            texts["summary"] = summary(counted, native)
    model = (out / "model" / "table").read_text()
    texts["model"] = where(read_facts(out / "model"), "model") + f"\n{model}"
    for name, text in texts.items():
        if text:
            (out / f"{name}.txt").write_text(text)
            print(text)
    report = {
        "values": [v.as_json() for run in runs for v in all_values(run)],
        "bounds": [v.__dict__ for v in found.verdicts],
        "facts": {run.setup: run.facts for run in runs},
    }
    (out / "results.json").write_text(json.dumps(report, indent=1) + "\n")


def put_into(lines: list[str], out: Path) -> list[str]:
    """The lines of a page, with the literal block after each ".. bench: FILE" from OUT. A block whose
    file isn't there stays."""
    result, i = [], 0
    while i < len(lines):
        result.append(lines[i])
        i += 1
        if not result[-1].startswith(".. bench: ") or not (out / result[-1].split()[-1]).exists():
            continue
        while i < len(lines) and (lines[i] in ("", "::") or lines[i].startswith(" ")):
            i += 1
        table = (out / result[-1].split()[-1]).read_text().rstrip().splitlines()
        result += ["", "::", "", *(f"  {row}".rstrip() for row in table), ""]
    return result


def into_pages(out: Path, folder: Path) -> None:
    """Puts tables and plots of `out` into the pages of a folder."""
    for page in sorted(folder.glob("*.rst")):
        text = page.read_text()
        if "\n.. bench: " in text:
            page.write_text("\n".join(put_into(text.splitlines(), out)) + "\n")
    for picture in folder.glob("cost-*.svg"):
        if not (out / picture.name).exists():
            continue
        shutil.copy(out / picture.name, picture)
