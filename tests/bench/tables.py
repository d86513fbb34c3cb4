# SPDX-License-Identifier: GPL-2.0
"""Tables of what was measured, for people."""

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
    ("function_inlined", "task", "", "a function with a call"),
    ("function_far", "task", "", "the same, fast path not inlined"),
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
    text = layout([f"{run.unit}, median", *SHAPES], rows)
    text = f"{run.setup} (clock of BLog: {run.clock}; run {run.id})\n\n{text}\n"
    for value in details(run):
        text += f"{value.name}: {cell(value.median)} {value.unit}"
        text += f" ({cell(value.min)} to {cell(value.max)})\n"
    return text


def details(run):
    """Single values beside the table."""
    if run.each:
        yield from run.page_turns()
    if run.new:
        yield from run.first_records()


def verdicts(found):
    rows = [[v.bound, v.setup, v.measured, v.state] for v in found]
    return layout(["bound", "setup", "measured", ""], rows) + "\n"
