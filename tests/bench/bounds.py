# SPDX-License-Identifier: GPL-2.0
"""What the cost of a record must not exceed, and whether it does: each within one run."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench import endtoend, reading, traffic
from bench.samples import Missing, Run, Value

MET, MISSED, UNKNOWN = "met", "MISSED", "not measured"


@dataclass(frozen=True)
class Verdict:
    """One bound, and what became of it."""

    bound: str
    setup: str
    measured: str
    state: str


class Bounds:
    """Collects verdicts."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []

    def check(
        self,
        bound: str,
        run: Run,
        measure: Callable[[], float],
        *,
        least: float = float("-inf"),
        most: float = float("inf"),
        show: str = "{:.2f}",
    ) -> None:
        """The number that `measure` returns is between these."""
        try:
            number = measure()
        except (Missing, ZeroDivisionError) as why:
            self.verdicts.append(Verdict(bound, run.setup, str(why), UNKNOWN))
            return
        state = MET if least <= number <= most else MISSED
        self.verdicts.append(Verdict(bound, run.setup, show.format(number), state))

    @property
    def missed(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.state == MISSED]


def native(bounds: Bounds, run: Run) -> None:
    """UML with one CPU: times beyond reading the clock. With it there is no fair ratio, as
    ftrace's clock costs nothing there, and the TSC as much as several records."""

    def beyond(what: str = "blog_on") -> Value:
        return run.beyond(what, "2")

    def times(peer: str) -> float:
        return beyond(peer) / beyond()

    text = "2 scalars beyond the clock: at most 2 ns"
    bounds.check(text, run, lambda: beyond().median, most=2)
    for peer, what, least in (
        ("event_on", "TRACE_EVENT", 12),
        ("trace_printk", "trace_printk", 15),
    ):
        text = f"2 scalars beyond the clock: at least {least} x less than {what} beyond its clock"
        bounds.check(text, run, partial(times, peer), least=least)

    def share() -> float:
        return run.cost("blog_on", "2", "turns_1024") / run.cost("event_on", "2", "turns_1024")

    text = "2 scalars, 1024 tasks by turns: at most half of what TRACE_EVENT costs"
    bounds.check(text, run, share, most=0.5)


def instructions(bounds: Bounds, run: Run) -> None:
    """QEMU counting instructions, BLog's beside those of its peers in the same kernel."""

    def cost(what: str, context: str = "task") -> float:
        return run.cost(what, "2", context).median

    def times(peer: str) -> float:
        return run.cost(peer, "2") / run.cost("blog_on", "2")

    for text, most, measure in (
        ("2 scalars, task, with page turns: at most 52 instructions", 52, partial(cost, "blog_on")),
        ("2 scalars, softirq: at most 70 instructions", 70, partial(cost, "blog_on", "softirq")),
        ("2 scalars, hardirq: at most 70 instructions", 70, partial(cost, "blog_on", "hardirq")),
        ("a page turn: at most 450 instructions more", 450, lambda: run.page_turns()[1].median),
        ("a task's first record: at most 700 instructions", 700,
         lambda: run.first_records()[0].median),
        ("2 scalars, 1024 tasks by turns, of 1 MiB: at most 155 instructions", 155,
         lambda: run.cost("blog_on", "2", "turns_1024", "default_size").median),
        ("2 scalars, to 900 components by turns: at most 235 instructions", 235,
         lambda: run.many_components().median),
        ("site off: at most 6 instructions", 6.49, partial(cost, "blog_site_off")),
        ("component off: at most 1 instruction", 1.49, partial(cost, "blog_component_off")),
        ("component off, from C: at most 1 instruction", 1.49, partial(cost, "blog_c_off")),
        ("CONFIG_BLOG=n: no instruction", 0.49, partial(cost, "none")),
    ):  # fmt: skip
        bounds.check(text, run, measure, most=most, show="{:.1f}")
    for args, what, most in (
        ("0", "no argument", 75),
        ("2", "2 scalars", 75),
        ("4", "4 scalars", 95),
        ("8", "8 scalars", 130),
        ("str11", "a string of 11 bytes", 176),
        ("str64", "a string of 64 bytes", 270),
    ):
        text = f"{what} from C, task: at most {most} instructions"
        measure = partial(lambda args: run.cost("blog_c_on", args).median, args)
        bounds.check(text, run, measure, most=most, show="{:.1f}")
    peers = [
        ("trace_printk", "trace_printk", 19),
        ("event_on", "TRACE_EVENT", 12),
        ("pr_debug_on", "pr_debug that is on", 60),
    ]
    for peer, what, least in peers:
        text = f"2 scalars: at least {least} x fewer instructions than {what}"
        bounds.check(text, run, partial(times, peer), least=least)
    text = "2 scalars: at least 10 x fewer instructions than LTTng"
    bounds.check(text, run, lambda: traffic.LTTNG["2"][0] / cost("blog_on"), least=10)


def elsewhere(
    bounds: Bounds, run: Run, limits: dict[str, tuple[float, str, str]], peers: dict[str, int]
) -> None:
    """On another machine or kernel than `instructions`: at most so many instructions of a case in a
    context, and at least so many times fewer than each peer."""
    for text, (most, what, context) in limits.items():
        measure = partial(lambda what, context: run.cost(what, "2", context).median, what, context)
        bounds.check(f"{run.setup}, {text}", run, measure, most=most, show="{:.1f}")
    for peer, least in peers.items():
        name = "TRACE_EVENT" if peer == "event_on" else peer
        text = f"{run.setup}, 2 scalars: at least {least} x fewer instructions than {name}"
        times = partial(lambda peer: run.cost(peer, "2") / run.cost("blog_on", "2"), peer)
        bounds.check(text, run, times, least=least)


def arm64(bounds: Bounds, run: Run) -> None:
    """The same on arm64."""
    limits = {
        "2 scalars, task, with page turns: at most 75 instructions": (75.0, "blog_on", "task"),
        "2 scalars, softirq: at most 87 instructions": (87, "blog_on", "softirq"),
        "2 scalars from C, task: at most 90 instructions": (90, "blog_c_on", "task"),
        "site off: at most 7 instructions": (7.49, "blog_site_off", "task"),
        "component off: at most 1 instruction": (1.49, "blog_component_off", "task"),
        "CONFIG_BLOG=n: no instruction": (0.49, "none", "task"),
    }
    elsewhere(bounds, run, limits, {"trace_printk": 13, "event_on": 9})
    text = "arm64, a page turn: at most 450 instructions more"
    bounds.check(text, run, lambda: run.page_turns()[1].median, most=450, show="{:.1f}")
    text = "arm64, a task's first record: at most 750 instructions"
    bounds.check(text, run, lambda: run.first_records()[0].median, most=750, show="{:.1f}")


def core(bounds: Bounds, run: Run) -> None:
    """The core of BLog alone, whose clock is the kernel's monotonic one."""
    limits = {
        "2 scalars, task, with page turns: at most 100 instructions": (100.0, "blog_on", "task"),
        "site off: at most 6 instructions": (6.49, "blog_site_off", "task"),
        "component off: at most 1 instruction": (1.49, "blog_component_off", "task"),
    }
    elsewhere(bounds, run, limits, {})


def stock(bounds: Bounds, run: Run) -> None:
    """The same in Debian's own kernel, where BLog has no hooks, and calls have mitigations."""
    limits = {
        "2 scalars, task, with page turns: at most 60 instructions": (60.0, "blog_on", "task"),
        "2 scalars, softirq: at most 65 instructions": (65, "blog_on", "softirq"),
        "2 scalars from C, task: at most 80 instructions": (80, "blog_c_on", "task"),
        "site off: at most 6 instructions": (6.49, "blog_site_off", "task"),
        "component off: at most 1 instruction": (1.49, "blog_component_off", "task"),
    }
    elsewhere(bounds, run, limits, {"trace_printk": 15, "event_on": 11})


def traffic_bounds(bounds: Bounds, run: Run) -> None:
    """Bytes in the ring."""

    def per_record(logger: str, shape: str) -> float:
        records = run.traffic[logger].get(shape)
        if not records:
            raise Missing(f"{logger} was not filled with {shape} in {run.setup}")
        return traffic.MIB / records

    for shape, size, what in (("2x32", 16, "(u32, u32)"), ("2", 20, "(u32, u64)")):
        text = f"{what}: {size} bytes in the ring, page headers and padding at most 3 % more"
        bounds.check(text, run, partial(per_record, "blog", shape), most=1.03 * size)
    bounds.check(
        "each kind of record: fewer bytes than LTTng's with thread id, over 31 events", run,
        lambda: max(per_record("blog", s) / size for s, (_, size) in traffic.LTTNG.items()),
        most=0.999)  # fmt: skip


def site_bounds(bounds: Bounds, run: Run) -> None:
    """What a call site takes."""
    bounds.check(
        "a call site: at most 100 bytes, all in", run,
        lambda: traffic.site_bytes(run.sites, "blog")["sum"], most=100, show="{:.0f}")  # fmt: skip
    bounds.check(
        "a call site of C: at most 64 bytes of code", run,
        lambda: traffic.site_bytes(run.sites, "blog_c")["code"], most=64, show="{:.0f}")  # fmt: skip
    bounds.check(
        "a call site of C: at most 24 bytes of data beside the static branch", run,
        lambda: traffic.site_bytes(run.sites, "blog_c")["data"] - 16, most=24, show="{:.0f}")  # fmt: skip


def fio_bounds(bounds: Bounds, run: Run) -> None:
    """What is left of I/Os, by instructions."""
    for engine, ways in sorted(endtoend.read(run).items()):
        text = f"fio on rnull ({engine}), each I/O logged twice: at least 97 % of BLog off"
        share = 100 * ways["blog_on"] / ways["blog_off"]
        bounds.check(text, run, partial(float, share), least=97, show="{:.1f} %")


def reading_bounds(bounds: Bounds, run: Run) -> None:
    """Reading is as fast as a copy, and no read takes long."""

    def rate(row: reading.Row) -> float:
        return 1 / reading.per_byte(run, row).median

    def more(row: reading.Row, than: reading.Row) -> float:
        return reading.per_byte(run, row).median - reading.per_byte(run, than).median

    for name in ("snapshot", "stream"):
        small, large = (name, "read", 4096), (name, "read", 65536)
        bounds.check(f"{name}: at least 1 GB/s", run, partial(rate, large), least=1)
        # In UML a system call takes longer than to copy 4 KiB.
        text = f"{name} by 4 KiB: at most 1 ns a byte more than a copy in tmpfs"
        bounds.check(text, run, partial(more, small, ("memory", "read", 4096)), most=1)
        for row in (small, large):
            text = f"{name} by {row[2] >> 10} KiB: no read takes more than 2 ms"
            bounds.check(text, run, partial(reading.longest, run, row), most=2)


def check_run(bounds: Bounds, run: Run) -> None:
    """All bounds that this setup can tell of."""
    if run.setup == "arm64":
        arm64(bounds, run)
    elif run.setup == "core":
        core(bounds, run)
    elif run.setup == "stock":
        stock(bounds, run)
    elif run.setup == "reading":
        reading_bounds(bounds, run)
    elif run.unit == "instructions":
        for check in (instructions, traffic_bounds, site_bounds, fio_bounds):
            check(bounds, run)
    elif run.setup == "native":
        native(bounds, run)
