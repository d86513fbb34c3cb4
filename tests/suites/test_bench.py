# SPDX-License-Identifier: GPL-2.0
"""The exact costs of a log call, and the benchmark's report.

The suite counts instructions with QEMU, bytes in the ring and of a call site, beside
trace_printk(), TRACE_EVENT and pr_debug() in the same boot. Costs that depend on the machine
(times, fio) are left to "make bench". The model of cache lines is among the host tests.
"""

from pathlib import Path

import pytest
from bench import bounds, plot, tables, traffic
from bench import run as benchmark
from bench.samples import DifferentRuns, Missing, Run
from conftest import TOP, by_kernel
from conftest import Run as Shell


@pytest.mark.parametrize(
    "setup",
    [
        pytest.param("instructions", marks=pytest.mark.kernels("x86")),
        pytest.param("core", marks=pytest.mark.kernels("x86-core")),
        *by_kernel("stock", "arm64"),
    ],
)
def test_bounds(setup: str, work: Path, subtests: pytest.Subtests) -> None:
    """All of these numbers are exact, so a met bound stays met."""
    work = work / setup
    benchmark.run(setup, benchmark.SETUPS[setup], work)
    runs, found = benchmark.report([work / "out"])
    print(tables.costs(runs[0]), tables.bytes_table(runs[0]), tables.sites_table(runs[0]))
    for verdict in found.verdicts:
        with subtests.test(msg=verdict.bound):
            assert verdict.state == bounds.MET, verdict.measured
    assert found.verdicts, "nothing was counted"


@pytest.mark.parametrize("words", [["nativ"], ["counted", "round=3"]])
def test_what_is_unknown_is_refused(sh: Shell, words: list[str]) -> None:
    sh(TOP / "scripts/bench", *words, status=[2])


# --- what the report must do with samples: take off the loop, keep runs apart, notice what is
# missed


def ticks(noise: int, cost: float) -> int:
    """Of 100 turns of a loop that takes 10 itself."""
    return int((cost + 10 + noise) * 100)


def make_run(
    folder: Path, boot: str, on: float = 50.0, icount: str = "yes", event: float = 500.0
) -> Run:
    """A run of three rounds, as a guest leaves it."""
    folder = folder / boot
    folder.mkdir()
    (folder / "facts").write_text(f"setup test\nboot {boot}\nicount {icount}\nclock counter\n")
    lines = ["clocks 0 0"]
    for noise in (0, 1, 5):
        for case, cost in (("empty", 0), ("loop", 0), ("blog_on", on), ("event_on", event)):
            lines.append(f"case {case}.2 turns_1024 100 {ticks(noise, cost)}")
        for empty in ("empty.0", "empty.2", "loop.0", "loop.2"):
            lines.append(f"case {empty} task 100 {ticks(noise, 0)}")
        lines.append(f"case blog_on.2 task 100 {ticks(noise, on)}")
        lines.append(f"case clock_counter.0 task 100 {ticks(noise, 9)}")
        lines.append(f"case clock_local.0 task 100 {ticks(noise, 4)}")
        lines.append(f"case event_on.2 task 100 {ticks(noise, event)}")
        lines.append(f"case blog_on.4 task 100 {ticks(noise, on)}")
    lines += ["each 70", "each 70", "each 70", "each 670", "new 1000 70", "clocks 1000 500"]
    (folder / "results").write_text("\n".join(lines) + "\n")
    return Run(folder)


def test_loops_are_taken_off_round_by_round(tmp_path: Path) -> None:
    cost = make_run(tmp_path, "a").cost("blog_on", "2")
    assert (cost.median, cost.min, cost.max, cost.runs) == (50, 50, 50, 3)
    assert cost.unit == "instructions"


def test_ticks_become_nanoseconds(tmp_path: Path) -> None:
    cost = make_run(tmp_path, "a", icount="no").cost("blog_on", "2")
    assert (cost.median, cost.unit) == (25, "ns")


def test_without_its_loop_a_case_has_no_cost(tmp_path: Path) -> None:
    with pytest.raises(Missing):
        make_run(tmp_path, "a").cost("blog_on", "4")


def test_different_runs_do_not_compare(tmp_path: Path) -> None:
    a, b = (
        make_run(tmp_path, "a").cost("blog_on", "2"),
        make_run(tmp_path, "b").cost("blog_on", "2"),
    )
    assert a / a == 1
    with pytest.raises(DifferentRuns):
        a / b


def test_each_of_many_components_counts(tmp_path: Path) -> None:
    run = make_run(tmp_path, "a")
    with pytest.raises(Missing):
        run.many_components()
    with (run.folder / "results").open("a") as results:
        results.write("many 900 180000\n")
    assert Run(run.folder).many_components().median == 200


def test_page_turns_are_told_apart(tmp_path: Path) -> None:
    plain, turn, share = make_run(tmp_path, "a").page_turns()
    assert (plain.median, turn.median, share.median) == (70, 600, 150)


def test_bounds_are_met_missed_or_not_measured(tmp_path: Path) -> None:
    for on, state in ((52.0, bounds.MET), (52.5, bounds.MISSED)):
        found = bounds.Bounds()
        bounds.instructions(found, make_run(tmp_path, f"on-{on}", on=on))
        states = {v.bound: v.state for v in found.verdicts}
        assert states["2 scalars, task, with page turns: at most 52 instructions"] == state
        assert states["a page turn: at most 450 instructions more"] == bounds.MISSED
        assert states["a task's first record: at most 700 instructions"] == bounds.MISSED
        assert states["2 scalars, hardirq: at most 70 instructions"] == bounds.UNKNOWN
        peer = "2 scalars: at least 19 x fewer instructions than trace_printk"
        assert states[peer] == bounds.UNKNOWN


def test_each_clock_is_taken_off_its_own_records(tmp_path: Path) -> None:
    run = make_run(tmp_path, "a", icount="no", on=11.0, event=52.0)
    # Two ticks to a nanosecond
    assert (run.beyond("blog_on", "2").median, run.beyond("event_on", "2").median) == (1, 24)
    with pytest.raises(Missing):
        run.beyond("pr_debug_on", "2")


def test_times_are_bound_beyond_the_clocks(tmp_path: Path) -> None:
    for on, event, states in (
        (13.0, 52.0, (bounds.MET, bounds.MET)),
        (13.2, 56.0, (bounds.MISSED, bounds.MET)),
        (13.0, 51.0, (bounds.MET, bounds.MISSED)),
    ):
        found = bounds.Bounds()
        run = make_run(tmp_path, f"{on}-{event}", icount="no", on=on, event=event)
        bounds.native(found, run)
        assert (tuple(v.state for v in found.verdicts)) == ((*states, bounds.UNKNOWN, bounds.MET))


def test_many_tasks_are_bound_by_those_of_a_tracepoint(tmp_path: Path) -> None:
    for on, state in ((250.0, bounds.MET), (251.0, bounds.MISSED)):
        found = bounds.Bounds()
        run = make_run(tmp_path, f"turns-{on}", icount="no", on=on)
        bounds.native(found, run)
        assert found.verdicts[-1].state == state


def test_each_kind_of_record_is_compared_with_lttng_s(tmp_path: Path) -> None:
    for size, state in ((0.9, bounds.MET), (1.0, bounds.MISSED)):
        run = make_run(tmp_path, f"bytes-{size}")
        run.traffic = {"blog": dict.fromkeys(traffic.SHAPES, traffic.MIB / 8)}
        run.traffic["blog"]["str11"] = traffic.MIB / (size * traffic.LTTNG["str11"][1])
        found = bounds.Bounds()
        bounds.traffic_bounds(found, run)
        assert found.verdicts[-1].state == state
        del run.traffic["blog"]["str64"]
        bounds.traffic_bounds(found, run)
        assert found.verdicts[-1].state == bounds.UNKNOWN


def test_of_a_call_site_all_counts(tmp_path: Path) -> None:
    sites = {
        "empty": {".text": 16, ".orc_unwind": 12},
        "blog": {".text": 48, ".orc_unwind": 24, ".data": 24},
    }
    assert list(traffic.site_bytes(sites, "blog").values()) == [32, 24, 12, 68]
    with pytest.raises(Missing):
        traffic.site_bytes({}, "blog")


def test_tables_get_into_their_pages(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "a.txt").write_text("new\n\nrow\n")
    page = "Title\n\n.. bench: a.txt\n\n::\n\n  old\n\nText\n\n::\n\n  kept".splitlines()
    assert tables.put_into(page, folder) == [*page[:6], "  new", "", "  row", "", *page[8:]]


def test_times_of_a_busy_machine_are_not_trusted(tmp_path: Path) -> None:
    for icount, others, said in (("no", 40, True), ("no", 1, False), ("yes", 40, False)):
        run = make_run(tmp_path, f"a-{icount}-{others}", icount=icount)
        run.facts["others"] = str(others)
        assert ("40 % of a CPU" in tables.disturbed(run)) == (said)


def test_unknown_lines_are_no_samples(tmp_path: Path) -> None:
    run = make_run(tmp_path, "a")
    with (run.folder / "results").open("a") as results:
        results.write("cases blog_on.2 task 1 1\n")
    with pytest.raises(ValueError):
        Run(run.folder)


def test_the_plot_has_a_bar_for_each_number(tmp_path: Path) -> None:
    svg = plot.bars("title", [("a", [("x", 10), ("y", 40)]), ("b", [("x", 20)])])
    assert svg.count("<rect") == 4
    widths = [plot.LENGTH / 4, plot.LENGTH, plot.LENGTH / 2]
    assert all(f'width="{w:.1f}"' in svg for w in widths)
