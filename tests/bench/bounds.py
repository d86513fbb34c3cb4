# SPDX-License-Identifier: GPL-2.0
"""What the cost of a record must not exceed, and whether it does: each within one run."""

from dataclasses import dataclass

import endtoend
import traffic
from samples import Missing

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

    def __init__(self):
        self.verdicts = []

    def check(self, bound, setup, measure, holds, show="{:.2f}"):
        """`measure` returns the number that `holds` tells about."""
        try:
            number = measure()
        except (Missing, ZeroDivisionError) as why:
            self.verdicts.append(Verdict(bound, setup, str(why), UNKNOWN))
            return
        state = MET if holds(number) else MISSED
        self.verdicts.append(Verdict(bound, setup, show.format(number), state))

    @property
    def missed(self):
        return [v for v in self.verdicts if v.state == MISSED]


def native(bounds, run):
    """UML with one CPU: times beyond reading the clock. With it there is no fair ratio, as ftrace's
    clock costs nothing there, and the TSC as much as several records."""
    own = lambda: run.beyond("blog_on", "2")
    bounds.check(
        "2 scalars beyond the clock: at most 2 ns", run.setup, lambda: own().median, lambda n: n <= 2,
    )
    for peer, what, least in (("event_on", "TRACE_EVENT", 12), ("trace_printk", "trace_printk", 15)):
        bounds.check(
            f"2 scalars beyond the clock: at least {least} x less than {what} beyond its clock",
            run.setup, lambda p=peer: run.beyond(p, "2") / own(), lambda r, n=least: r >= n,
        )


def instructions(bounds, run):
    """QEMU counting instructions, BLog's beside those of its peers in the same kernel."""
    on = lambda context="task": run.cost("blog_on", "2", context)
    bounds.check(
        "2 scalars, task, with page turns: at most 52 instructions",
        run.setup, lambda: on().median, lambda n: n <= 52, "{:.1f}",
    )
    for context in ("softirq", "hardirq"):
        bounds.check(
            f"2 scalars, {context}: at most 70 instructions",
            run.setup, lambda c=context: on(c).median, lambda n: n <= 70, "{:.1f}",
        )
    bounds.check(
        "a page turn: at most 450 instructions more",
        run.setup, lambda: run.page_turns()[1].median, lambda n: n <= 450, "{:.0f}",
    )
    bounds.check(
        "a task's first record: at most 700 instructions",
        run.setup, lambda: run.first_records()[0].median, lambda n: n <= 700, "{:.0f}",
    )
    bounds.check(
        "site off: at most 6 instructions",
        run.setup, lambda: run.cost("blog_site_off", "2").median, lambda n: n < 6.5, "{:.1f}",
    )
    bounds.check(
        "component off: at most 1 instruction",
        run.setup, lambda: run.cost("blog_component_off", "2").median, lambda n: n < 1.5, "{:.1f}",
    )
    bounds.check(
        "CONFIG_BLOG=n: no instruction",
        run.setup, lambda: run.cost("none", "2").median, lambda n: n < 0.5, "{:.1f}",
    )
    peers = [
        ("trace_printk", "trace_printk", 19),
        ("event_on", "TRACE_EVENT", 12),
        ("pr_debug_on", "pr_debug that is on", 60),
    ]
    # Where it was asked for
    if "lttng" in run.facts:
        peers.append(("lttng", "LTTng", 10))
    for peer, what, least in peers:
        bounds.check(
            f"2 scalars: at least {least} x fewer instructions than {what}",
            run.setup,
            lambda p=peer: run.cost(p, "2") / run.cost("blog_on", "2"),
            lambda r, n=least: r >= n,
        )


def scaling(bounds, run):
    """Two CPUs against one. That nothing is shared, the model of cache lines shows exactly; here,
    two CPUs of a guest may be one of the machine's."""
    bounds.check(
        "two CPUs: at least 1.8 x one CPU",
        run.setup, lambda: speedups(run, "blog_on.2").median, lambda r: r >= 1.8,
    )


def speedups(run, case):
    """How much more is done on several CPUs than on one in the same time, for each round."""
    rounds = run.cpus.get(case)
    if not rounds:
        raise Missing(f"{case} was not measured on several CPUs in {run.setup}")
    samples = [cpus * one / together for cpus, _, one, together in rounds]
    return run.make(f"speedup_on_{rounds[0][0]}_cpus.{case}/task", samples, "x")


def traffic_bounds(bounds, run):
    """Bytes in the ring; `run.traffic` is what traffic.read() found."""
    def per_record(logger, shape):
        records = run.traffic[logger].get(shape)
        if not records:
            raise Missing(f"{logger} was not filled with {shape} in {run.setup}")
        return traffic.MIB / records

    for shape, size, what in (("2x32", 16, "(u32, u32)"), ("2", 20, "(u32, u64)")):
        bounds.check(
            f"{what}: {size} bytes in the ring, page headers and padding at most 3 % more",
            run.setup, lambda s=shape: per_record("blog", s), lambda n, z=size: n <= 1.03 * z,
        )
    if "lttng" in run.facts:
        # An event of LTTng has at least one field.
        ratios = lambda: [
            per_record("blog", s) / per_record("lttng-tid", s) for s in traffic.ARGUMENTS if s != "0"
        ]
        bounds.check(
            "each kind of record: fewer bytes than LTTng's with thread id, over 31 events",
            run.setup, lambda: max(ratios()), lambda r: r < 1,
        )


def site_bounds(bounds, run):
    """What a call site takes."""
    bounds.check(
        "a call site: at most 100 bytes, all in",
        run.setup, lambda: traffic.site_bytes(run.sites, "blog")["sum"], lambda n: n <= 100, "{:.0f}",
    )


def fio_bounds(bounds, run):
    """What is left of I/Os, by instructions; natively, rounds differ by more than what logging takes."""
    found = {v.name: v for v in endtoend.values(run)}
    for engine in sorted(endtoend.read(run)):
        def share(e=engine):
            value = found.get(f"fio_{e}.blog_on.share")
            if value is None:
                raise Missing(f"fio with {e} was not run")
            return value.median

        bounds.check(
            f"fio on rnull ({engine}), each I/O logged twice: at least 97 % of BLog off",
            run.setup, share, lambda p: p >= 97, "{:.1f} %",
        )


def check_run(bounds, run):
    """All bounds that this setup can tell of."""
    if run.unit == "instructions":
        instructions(bounds, run)
        traffic_bounds(bounds, run)
        site_bounds(bounds, run)
        fio_bounds(bounds, run)
    elif run.setup == "native":
        native(bounds, run)
    elif run.setup == "cpus":
        scaling(bounds, run)
