# SPDX-License-Identifier: GPL-2.0
"""Tables of what was measured, for people."""

import json
import shutil

import endtoend
import plot
import traffic
from bounds import best_speedup, speedups
from samples import Missing

SHAPES = ["0", "1", "2", "2x32", "4", "8", "rnull", "str11", "str64"]

# (case, context, mark, what it is called)
ROWS = [
    ("clock_tsc", "task", "", "reading the TSC"),
    ("clock_mono", "task", "", "reading the monotonic clock"),
    ("floor_tsc", "task", "", "TSC + the same bytes stored"),
    ("floor_mono", "task", "", "monotonic clock + the same bytes"),
    ("blog_on", "task", "", "blog_log!, task"),
    ("blog_on", "softirq", "", "blog_log!, softirq"),
    ("blog_on", "hardirq", "", "blog_log!, hardirq"),
    ("blog_site_off", "task", "", "blog_log!, site off"),
    ("blog_component_off", "task", "", "blog_log!, component off"),
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
    ("lttng", "task", "", "LTTng"),
    ("lttng", "softirq", "", "LTTng, softirq"),
    ("lttng", "hardirq", "", "LTTng, hardirq"),
    ("pr_debug_off", "task", "", "pr_debug, off"),
    ("pr_debug_on", "task", "", "pr_debug, on, console quiet"),
]


def cell(number):
    """A number with three digits or so."""
    if 0 < abs(number) < 5 and number != round(number):
        return f"{number:.2f}"
    number = round(number, 1) + 0.0
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.1f}"


def layout(header, rows):
    """Columns as wide as they must be; numbers to the right."""
    widths = [max(len(str(r[i])) for r in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, ["-" * w for w in widths], *rows]:
        first = str(row[0]).ljust(widths[0])
        lines.append("  ".join([first, *(str(c).rjust(w) for c, w in zip(row[1:], widths[1:]))]))
    return "\n".join(line.rstrip() for line in lines)


def costs(run):
    """One line for each way to log, one column for each list of arguments."""
    rows = []
    for what, context, mark, label in ROWS:
        cells = []
        for shape in SHAPES:
            try:
                cells.append(cell(run.cost(what, shape, context, mark).median))
            except Missing:
                cells.append("")
        if any(cells):
            rows.append([label, *cells])
    text = layout([f"{run.unit}, median", *SHAPES], rows) if rows else ""
    if why := missing_peers(run):
        text += "\n" + "\n".join(why)
    text = f"{run.setup} (clock of BLog: {run.clock}; run {run.id})\n{disturbed(run)}" + (
        f"\n{text}\n" if text else ""
    )
    if "logged" in run.facts:
        text += f"{run.facts['cpus']} CPUs logged {run.facts['logged']} records: all are counted, "
        text += f"{run.facts['lost']} of them as lost.\n"
    for value in details(run):
        text += f"{value.name}: {cell(value.median)} {value.unit}"
        text += f" ({cell(value.min)} to {cell(value.max)})\n"
    return text


def missing_peers(run):
    """Why what isn't in the table could not run in this setup."""
    why = []
    if run.has("blog_on", "2") and not run.has("trace_printk", "2"):
        why.append("No trace_printk and TRACE_EVENT: this kernel is built without tracing.")
    if run.facts.get("lttng", "").startswith("no: "):
        why.append(f"No LTTng: {run.facts['lttng'][4:]}.")
    if run.has("lttng", "2") and not shutil.which("babeltrace2"):
        why.append("No bytes of LTTng: there is no babeltrace2 to count its records.")
    if run.has("event_on", "2"):
        why.append("TRACE_EVENT without arguments: an event has at least one field.")
    return why


def disturbed(run):
    """A line about what else the machine did, where that matters: nothing, or very little."""
    others = int(run.facts.get("others", 0))
    if run.unit == "instructions" or others < 5:
        return ""
    return f"NOT QUIET: something else used {others} % of a CPU meanwhile, so times mean little.\n"


def details(run):
    """Single values beside the table."""
    if run.each:
        yield from run.page_turns()
    if run.new:
        yield from run.first_records()
    # CPUs that are emulated share those of this machine.
    for case in run.cpus if run.setup == "cpus" else ():
        yield speedups(run, case)
        yield best_speedup(run, case)


def verdicts(found):
    rows = [[v.bound, v.setup, v.measured, v.state] for v in found]
    return layout(["bound", "setup", "measured", ""], rows) + "\n"


def bytes_table(found):
    """Records in 1 MiB, and bytes for each; page headers and padding are in them."""
    names = {
        "blog": "BLog", "event_on": "TRACE_EVENT", "trace_printk": "trace_printk",
        "lttng": "LTTng, at most 31 events", "lttng-tid": "LTTng, more, thread id",
    }
    rows = []
    for key, name in names.items():
        cells = [found[key].get(shape) for shape in SHAPES]
        if any(cells):
            rows.append([name, *(f"{traffic.MIB / n:.2f}" if n else "" for n in cells)])
            rows.append(["  records per MiB", *(f"{n:.0f}" if n else "" for n in cells)])
    if not rows:
        return ""
    return layout(["bytes a record, all in", *SHAPES], rows) + "\n"


def fio_table(run):
    rows = []
    found = {v.name: v for v in endtoend.values(run)}
    for engine in sorted(endtoend.read(run)):
        for way, label in endtoend.WAYS.items():
            value = found.get(f"fio_{engine}.{way}")
            share = found.get(f"fio_{engine}.{way}.share")
            if value:
                rows.append([
                    f"{engine}: {label}", f"{value.median:.0f}", f"{value.min:.0f}",
                    f"{value.max:.0f}", f"{share.median:.1f} %" if share else "",
                ])
    if not rows:
        return ""
    header = [f"fio, IOPS ({run.setup})", "median", "min", "max", "of BLog off"]
    return layout(header, rows) + "\n"


SITES = {"blog": "blog_log!", "blog_err": "blog_err!", "event": "TRACE_EVENT"}


def site_bytes(sites, kind):
    """Loaded bytes of a call site, beyond a function that does nothing: code, data, unwind tables
    and their sum."""
    parts = [0, 0, 0]
    for section, size in sites[kind].items():
        is_code = section.startswith((".text", ".ltext"))
        part = 0 if is_code else 2 if "orc" in section or "eh_frame" in section else 1
        parts[part] += size - (sites["empty"].get(section, 0) if part != 1 else 0)
    return [*parts, sum(parts)]


def sites_table(sites):
    """The same, as a table."""
    rows = []
    for kind in sites:
        if kind != "empty":
            row = [f"{n:.0f}" for n in site_bytes(sites, kind)]
            rows.append([SITES.get(kind, kind), *row])
    return layout(["loaded bytes of a call site", "code", "data", "unwind tables", "sum"], rows) + "\n"


def cost_plot(run):
    """The cost of two scalars, as a picture."""
    rows = []
    for what, context, mark, label in ROWS:
        try:
            value = run.cost(what, "2", context, mark)
        except Missing:
            continue
        kind = "floor" if what.startswith(("floor", "clock")) else "peer"
        if what.startswith(("blog", "function", "none")):
            kind = "blog"
        rows.append((label, kind, value.median, value.min, value.max))
    title = f"What a record of two scalars costs ({run.setup})"
    return plot.bars(title, run.unit, rows)


def scaling_plot(model):
    """The curves that the model of cache lines expects, from its table: with shelves for all CPUs."""
    lines, label = {}, ""
    for line in model.splitlines():
        words = line.split()
        if words and words[0].isdigit():
            if words[1] != "1":
                lines.setdefault(label, []).append((int(words[0]), float(words[-1])))
        elif ":" in line:
            label = line.strip()
    return plot.curves("What more CPUs bring (by a model of cache lines)", "CPUs", "speedup", lines)


def all_values(run, found):
    """Everything of a run that results.json has."""
    yield from run.costs()
    yield from details(run)
    yield from endtoend.values(run)
    for logger, shapes in found.items():
        for shape, records in shapes.items():
            yield run.make(f"bytes_{logger}.{shape}", [traffic.MIB / records], "bytes")


def write(out, runs, verdicts_of, decode, sites):
    """Leaves results.json, a text file for each table, a plot for each setup, and one of what the
    model says, if that is there, in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    values, texts = [], {}
    for run in runs:
        found = traffic.read(run, decode)
        run.traffic = found
        values += [v.as_json() for v in all_values(run, found)]
        texts[f"costs-{run.setup}"] = costs(run)
        texts[f"bytes-{run.setup}"] = bytes_table(found)
        texts[f"fio-{run.setup}"] = fio_table(run)
        if run.has("blog_on", "2"):
            (out / f"cost-{run.setup}.svg").write_text(cost_plot(run))
    model = out / "model.txt"
    if model.exists():
        (out / "scaling.svg").write_text(scaling_plot(model.read_text()))
    if sites:
        texts["sites"] = sites_table(sites)
        for kind, sections in sites.items():
            for section, size in sections.items():
                values.append({
                    "name": f"site_{kind}{section}", "unit": "bytes", "median": size, "min": size,
                    "max": size, "runs": 1, "setup": "object files", "run": "object files",
                })
    found = verdicts_of(runs)
    if sites:
        found.check(
            "a call site: at most 100 bytes, all in", "object files",
            lambda: site_bytes(sites, "blog")[-1], lambda n: n <= 100, "{:.0f}",
        )
    texts["bounds"] = verdicts(found.verdicts)
    texts = {name: text for name, text in texts.items() if text}
    for name, text in texts.items():
        (out / f"{name}.txt").write_text(text)
    report = {"values": values, "bounds": [v.__dict__ for v in found.verdicts],
              "facts": {run.setup: run.facts for run in runs}}
    (out / "results.json").write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(texts.values()))
    return found
