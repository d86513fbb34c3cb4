# SPDX-License-Identifier: GPL-2.0
"""What the cost of a record must not exceed, and whether it does: each within one result."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from bench.results import Result

MET, MISSED, UNKNOWN = "met", "MISSED", "not measured"

Measure = Callable[[Result], float]


class Bound(NamedTuple):
    """A number and its limits."""

    text: str
    measure: Measure
    most: float = float("inf")
    least: float = float("-inf")


class Verdict(NamedTuple):
    """A bound, and what became of it."""

    text: str
    measured: str
    state: str


def cost(what: str, shape: str = "2", context: str = "task") -> Measure:
    return lambda result: float(result["costs"][f"{what} {context}"][shape])


def single(what: str) -> Measure:
    return lambda result: float(result["single"][what])


def times(of: Measure, less: Measure) -> Measure:
    return lambda result: of(result) / less(result)


def most(what: str, limit: float, measure: Measure) -> Bound:
    return Bound(f"{what}: at most {limit} instructions", measure, limit + 0.49)


def fewer(peer: str, name: str, least: float) -> Bound:
    text = f"2 scalars: at least {least} x fewer instructions than {name}"
    return Bound(text, times(cost(peer), cost("blog_on")), least=least)


def site(kind: str, part: str, less: float = 0) -> Measure:
    return lambda result: float(result["sites"][kind][part]) - less


def decoding(name: str, column: str = "M records/s") -> Measure:
    return lambda result: float(result["decode"][name][column])


def busiest(name: str) -> Measure:
    """CPU time of the busiest of two threads, where text takes 1 in all."""
    cpu, share = times(decoding("text"), decoding(name)), decoding(name, "busiest")
    return lambda result: cpu(result) * share(result) / 100


def fio(engine: str) -> Measure:
    """Percent of the I/Os without BLog."""
    return lambda r: float(100 * r["fio"][engine]["blog_on"] / r["fio"][engine]["blog_off"])


def of_lttng(result: Result) -> float:
    """The largest share of a record of LTTng with thread id that one of BLog takes."""
    ours: dict[str, float] = result["bytes"]["blog"]
    return max(ours[shape] / size for shape, size in LTTNG["bytes"].items())


# LTTng as measured on 23 November 2026, in one boot with BLog f742b73, which has the code for it:
# instructions of an event, and bytes of its record, which has the thread id, and is in a channel
# of more than 31 events.
LTTNG: dict[str, dict[str, float]] = {
    "instructions": {"2": 498, "4": 586, "8": 762, "str11": 604, "str64": 1136},
    "bytes": {"2": 22.10, "4": 34.05, "8": 58.07, "str11": 22.10, "str64": 75.33},
}  # fmt: skip

OFF = (
    most("component off", 1, cost("blog_component_off")),
    most("CONFIG_BLOG=n", 0, cost("none")),
)
BOUNDS = {
    # In QEMU, in the same kernel as the peers
    "instructions": (
        most("2 scalars, task, with page turns", 52, cost("blog_on")),
        most("2 scalars, softirq", 70, cost("blog_on", context="softirq")),
        most("2 scalars, hardirq", 70, cost("blog_on", context="hardirq")),
        most("a page turn", 450, single("page turn")),
        most("a task's first record", 700, single("first record")),
        most("2 scalars, 1024 tasks by turns, of 1 MiB", 155,
             cost("blog_on", context="turns_1024 default_size")),
        most("2 scalars, to 900 components by turns", 235, single("record to many components")),
        most("site off", 6, cost("blog_site_off")),
        *OFF,
        most("component off, from C", 1, cost("blog_c_off")),
        most("no argument from C", 75, cost("blog_c_on", "0")),
        most("2 scalars from C", 75, cost("blog_c_on")),
        most("4 scalars from C", 95, cost("blog_c_on", "4")),
        most("8 scalars from C", 130, cost("blog_c_on", "8")),
        most("a string of 11 bytes from C", 176, cost("blog_c_on", "str11")),
        most("a string of 64 bytes from C", 270, cost("blog_c_on", "str64")),
        fewer("trace_printk", "trace_printk", 19),
        fewer("event_on", "TRACE_EVENT", 12),
        fewer("pr_debug_on", "pr_debug that is on", 60),
        Bound("2 scalars: at least 10 x fewer instructions than LTTng",
              times(lambda _: LTTNG["instructions"]["2"], cost("blog_on")), least=10),
        Bound("(u32, u64): 20 bytes in the ring, page headers and padding at most 3 % more",
              lambda result: result["bytes"]["blog"]["2"], 1.03 * 20),
        Bound("each kind of record: fewer bytes than LTTng's with thread id, over 31 events",
              of_lttng, 0.999),
        Bound("a call site: at most 100 bytes, all in", site("blog", "sum"), 100),
        Bound("a call site of C: at most 64 bytes of code", site("blog_c", "code"), 64),
        Bound("a call site of C: at most 24 bytes of data beside the static branch",
              site("blog_c", "data", 16), 24),
    ),
    "arm64": (
        most("2 scalars, task, with page turns", 75, cost("blog_on")),
        most("2 scalars, softirq", 87, cost("blog_on", context="softirq")),
        most("2 scalars from C", 90, cost("blog_c_on")),
        most("site off", 7, cost("blog_site_off")),
        *OFF,
        fewer("trace_printk", "trace_printk", 13),
        fewer("event_on", "TRACE_EVENT", 9),
        most("a page turn", 450, single("page turn")),
        most("a task's first record", 750, single("first record")),
    ),
    # Alone, with the kernel's monotonic clock
    "core": (
        most("2 scalars, task, with page turns", 100, cost("blog_on")),
        most("site off", 6, cost("blog_site_off")),
        OFF[0],
    ),
    # Debian's own kernel, without hooks, with mitigations
    "stock": (
        most("2 scalars, task, with page turns", 60, cost("blog_on")),
        most("2 scalars, softirq", 65, cost("blog_on", context="softirq")),
        most("2 scalars from C", 80, cost("blog_c_on")),
        most("site off", 6, cost("blog_site_off")),
        OFF[0],
        fewer("trace_printk", "trace_printk", 15),
        fewer("event_on", "TRACE_EVENT", 11),
    ),
    # Times in UML, beyond reading the clock: with it there is no fair ratio, as ftrace's clock
    # costs nothing there, and the TSC as much as several records.
    "native": (
        Bound("2 scalars beyond the clock: at most 2 ns",
              lambda result: result["beyond the clock"]["blog_on"], 2),
        Bound("2 scalars beyond the clock: at least 12 x less than TRACE_EVENT",
              lambda r: r["beyond the clock"]["event_on"] / r["beyond the clock"]["blog_on"],
              least=12),
        Bound("2 scalars, 1024 tasks by turns: at most half of what TRACE_EVENT costs",
              times(cost("blog_on", context="turns_1024"),
                    cost("event_on", context="turns_1024")), 0.5),
    ),
    "decode": (
        *(Bound(f"{name}: at least {least} x the rate of trace-cmd",
                times(decoding(name), decoding("trace-cmd")), least=least)
          for name, least in (("text", 18), ("text, 200 rings", 12), ("JSON", 8))),
        *(Bound(f"{name}: busiest of two threads at most {limit} x the CPU time of text",
                busiest(name), limit)
          for name, limit in (("report", 2), ("Perfetto", 2), ("Parquet", 4))),
        *(Bound(f"{name}: at most 56 % of the CPU time in one of two threads",
                decoding(name, "busiest"), 56)
          for name in ("text", "JSON", "report", "Perfetto", "CTF")),
        *(Bound(f"{name}: two CPUs, at least 1.7 x as fast", decoding(name, "two CPUs"), least=1.7)
          for name in ("text", "text, 200 rings", "JSON")),
        Bound("CTF: at most 30 bytes a record", decoding("CTF", "bytes"), 30),
    ),
    "fio": tuple(
        Bound(f"fio on rnull ({engine}), each I/O logged twice: at least 97 % of BLog off",
              fio(engine), least=97)
        for engine in ("batch", "single")),
}  # fmt: skip


def verdicts(setup: str, result: Result) -> Iterator[Verdict]:
    for bound in BOUNDS[setup]:
        try:
            number = bound.measure(result)
        except KeyError as missing:
            yield Verdict(bound.text, f"no {missing}", UNKNOWN)
            continue
        met = bound.least <= number <= bound.most
        yield Verdict(bound.text, f"{number:.2f}", MET if met else MISSED)
