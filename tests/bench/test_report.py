#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the report must do with samples: take off the loop, keep runs apart, notice what is missed."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bounds
import plot
import tables
import traffic
from samples import DifferentRuns, Missing, Run


def make_run(folder, boot, on=50.0, loop=10.0, icount="yes", clock=9.0, event=500.0):
    """A run of three rounds, as a guest leaves it."""
    folder = Path(folder) / boot
    folder.mkdir()
    (folder / "facts").write_text(f"setup test\nboot {boot}\nicount {icount}\nclock tsc\n")
    lines = ["clocks 0 0"]
    for noise in (0, 1, 5):
        # Ticks of 100 turns of the loop
        ticks = lambda cost: int((cost + loop + noise) * 100)
        for empty in ("empty.0", "empty.2", "loop.0", "loop.2"):
            lines.append(f"case {empty} task 100 {ticks(0)}")
        lines.append(f"case blog_on.2 task 100 {ticks(on)}")
        lines.append(f"case clock_tsc.0 task 100 {ticks(clock)}")
        lines.append(f"case clock_local.0 task 100 {ticks(4)}")
        lines.append(f"case event_on.2 task 100 {ticks(event)}")
        lines.append(f"case blog_on.4 task 100 {int((on + loop + noise) * 100)}")
    lines += ["each 70", "each 70", "each 70", "each 670", "new 1000 70", "clocks 1000 500"]
    (folder / "results").write_text("\n".join(lines) + "\n")
    return Run(folder)


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_of(self, boot, **kwargs):
        return make_run(self.folder.name, boot, **kwargs)

    def test_loops_are_taken_off_round_by_round(self):
        cost = self.run_of("a").cost("blog_on", "2")
        self.assertEqual((cost.median, cost.min, cost.max, cost.runs), (50, 50, 50, 3))
        self.assertEqual(cost.unit, "instructions")

    def test_ticks_become_nanoseconds(self):
        cost = self.run_of("a", icount="no").cost("blog_on", "2")
        self.assertEqual((cost.median, cost.unit), (25, "ns"))

    def test_without_its_loop_a_case_has_no_cost(self):
        with self.assertRaises(Missing):
            self.run_of("a").cost("blog_on", "4")

    def test_different_runs_do_not_compare(self):
        a, b = self.run_of("a").cost("blog_on", "2"), self.run_of("b").cost("blog_on", "2")
        self.assertEqual(a / a, 1)
        with self.assertRaises(DifferentRuns):
            a / b

    def test_page_turns_are_told_apart(self):
        plain, turn, share = self.run_of("a").page_turns()
        self.assertEqual((plain.median, turn.median, share.median), (70, 600, 150))

    def test_bounds_are_met_missed_or_not_measured(self):
        for on, state in ((52.0, bounds.MET), (52.5, bounds.MISSED)):
            found = bounds.Bounds()
            bounds.instructions(found, self.run_of(f"on-{on}", on=on))
            states = {v.bound: v.state for v in found.verdicts}
            self.assertEqual(states["2 scalars, task, with page turns: at most 52 instructions"], state)
            self.assertEqual(states["a page turn: at most 450 instructions more"], bounds.MISSED)
            self.assertEqual(states["a task's first record: at most 700 instructions"], bounds.MISSED)
            self.assertEqual(states["2 scalars, hardirq: at most 70 instructions"], bounds.UNKNOWN)
            peer = "2 scalars: at least 19 x fewer instructions than trace_printk"
            self.assertEqual(states[peer], bounds.UNKNOWN)

    def test_each_clock_is_taken_off_its_own_records(self):
        run = self.run_of("a", icount="no", on=11.0, clock=9.0, event=52.0)
        # Two ticks to a nanosecond
        self.assertEqual((run.beyond("blog_on", "2").median, run.beyond("event_on", "2").median), (1, 24))
        with self.assertRaises(Missing):
            run.beyond("pr_debug_on", "2")

    def test_times_are_bound_beyond_the_clocks(self):
        for on, event, states in (
            (13.0, 52.0, (bounds.MET, bounds.MET)),
            (13.2, 56.0, (bounds.MISSED, bounds.MET)),
            (13.0, 51.0, (bounds.MET, bounds.MISSED)),
        ):
            found = bounds.Bounds()
            run = self.run_of(f"{on}-{event}", icount="no", on=on, event=event)
            bounds.native(found, run)
            self.assertEqual(tuple(v.state for v in found.verdicts), (*states, bounds.UNKNOWN))

    def test_each_kind_of_record_is_compared_with_lttng_s(self):
        for size, state in ((0.9, bounds.MET), (1.0, bounds.MISSED)):
            run = self.run_of(f"bytes-{size}")
            run.facts["lttng"] = "yes"
            lttng = {shape: 1000 for shape in traffic.ARGUMENTS if shape != "0"}
            run.traffic = {"blog": {s: 2000 for s in traffic.ARGUMENTS}, "lttng-tid": lttng}
            run.traffic["blog"]["str11"] = 1000 / size
            found = bounds.Bounds()
            bounds.traffic_bounds(found, run)
            self.assertEqual(found.verdicts[-1].state, state)
            del run.traffic["lttng-tid"]["str64"]
            bounds.traffic_bounds(found, run)
            self.assertEqual(found.verdicts[-1].state, bounds.UNKNOWN)

    def test_of_a_call_site_all_counts(self):
        sites = {
            "empty": {".text": 16, ".orc_unwind": 12},
            "blog": {".text": 48, ".orc_unwind": 24, ".data": 24},
        }
        self.assertEqual(list(traffic.site_bytes(sites, "blog").values()), [32, 24, 12, 68])
        with self.assertRaises(Missing):
            traffic.site_bytes({}, "blog")

    def test_tables_get_into_their_pages(self):
        folder = Path(self.folder.name)
        (folder / "a.txt").write_text("new\n\nrow\n")
        page = ["Title", "", ".. bench: a.txt", "", "::", "", "  old", "", "Text", "", "::", "", "  kept"]
        self.assertEqual(
            tables.put_into(page, folder),
            [*page[:6], "  new", "", "  row", "", *page[8:]],
        )

    def test_cpus_are_told_apart_by_case(self):
        run = self.run_of("a")
        with (run.folder / "results").open("a") as results:
            for one, both in ((100, 110), (100, 100), (100, 400)):
                results.write(f"cpus blog_on.2 2 10 {one} {both}\n")
                results.write(f"cpus clock_tsc.0 2 10 {one} {one}\n")
        run = Run(run.folder)
        speedup = bounds.speedups(run, "blog_on.2")
        self.assertAlmostEqual(speedup.median, 200 / 110)
        self.assertEqual((speedup.max, bounds.speedups(run, "clock_tsc.0").min), (2, 2))
        with self.assertRaises(Missing):
            bounds.speedups(run, "blog_on.4")

    def test_times_of_a_busy_machine_are_not_trusted(self):
        for icount, others, said in (("no", 40, True), ("no", 1, False), ("yes", 40, False)):
            run = self.run_of(f"a-{icount}-{others}", icount=icount)
            run.facts["others"] = str(others)
            self.assertEqual("40 % of a CPU" in tables.disturbed(run), said)

    def test_unknown_lines_are_no_samples(self):
        run = self.run_of("a")
        with (run.folder / "results").open("a") as results:
            results.write("cases blog_on.2 task 1 1\n")
        with self.assertRaises(ValueError):
            Run(run.folder)

    def test_sizes_are_those_of_the_format(self):
        sizes = {shape: traffic.blog_size(shape) for shape in ("0", "2x32", "2", "str11")}
        self.assertEqual(sizes, {"0": 8, "2x32": 16, "2": 20, "str11": 20})

    def test_the_plot_has_a_bar_for_each_number(self):
        svg = plot.bars("title", [("a", [("x", 10), ("y", 40)]), ("b", [("x", 20)])])
        self.assertEqual(svg.count("<rect"), 4)
        widths = [plot.LENGTH / 4, plot.LENGTH, plot.LENGTH / 2]
        self.assertTrue(all(f'width="{w:.1f}"' in svg for w in widths))

    def test_the_curves_are_those_with_many_shelves(self):
        rows = ["alone: nothing", "CPUs  shelves  speedup", " 2 2 2.0", " 256 1 1.5", " 256 64 64.0"]
        svg = tables.scaling_plot("\n".join(rows))
        # 9 lines of the grid each way, the dashed one, and the curve
        self.assertEqual(svg.count("<polyline"), 2 * 9 + 2)
        self.assertIn("alone: nothing", svg)


if __name__ == "__main__":
    unittest.main()
