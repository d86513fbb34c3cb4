#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the checker itself: of a log in which all holds nothing is said, and
each property, when violated, is noticed by its own check. Needs no kernel."""

import copy
import json
import unittest

import checks
import pattern
import records

def record(ring, ns, verb, op, sector, size, tag):
    """A JSON record of the request path as blog-decode prints it."""
    args = {"op": op, "sector": sector, "bytes": size, "tag": tag}
    return {
        "type": "record",
        "component": "rnull",
        "ring": ring,
        "mono_ns": ns,
        "format": verb + " {op:?} sector={sector} bytes={bytes} tag={tag}",
        "message": "",
        "args": [{"name": name, "type": "", "value": value} for name, value in args.items()],
    }


def ring(number, context, taken, **more):
    """A JSON ring line."""
    return {
        "type": "ring",
        "component": "rnull",
        "ring": number,
        "context": context,
        "cpu": None,
        "pid": None,
        "comm": None,
        "taken": taken,
        "overwritten": 0,
        "missing": 0,
        "damaged": 0,
        "lost": {},
        **more,
    }


def loss(number, cause, count):
    """A JSON loss line."""
    return {"type": "lost", "component": "rnull", "ring": number, "cause": cause, "count": count}


def numbered(items):
    """Gives each record its ordinal in its ring."""
    counts = {}
    for item in items:
        if item["type"] == "record":
            item.setdefault("ordinal", counts.get(item["ring"], 0))
            counts[item["ring"]] = item["ordinal"] + 1
    return items


def good():
    """Two tasks and two CPUs; ring 1 is a partition scan; tag 3 is used twice."""
    return numbered(
        [
            {"type": "component", "component": "rnull", "gone": 0, "lost": {}},
            ring(1, "task", 1, pid=1, comm="init"),
            record(1, 5, "queue", "Read", 900, 4096, 9),
            ring(2, "task", 3, pid=7, comm="fio"),
            record(2, 10, "queue", "Write", 0, 512, 3),
            record(2, 30, "queue", "Write", 1, 512, 3),
            record(2, 40, "queue", "Read", 64, 1024, 4),
            ring(3, "softirq", 3, cpu=0),
            record(3, 6, "complete", "Read", 900, 4096, 9),
            record(3, 20, "complete", "Write", 0, 512, 3),
            record(3, 50, "complete", "Write", 1, 512, 3),
            ring(4, "softirq", 1, cpu=1),
            record(4, 50, "complete", "Read", 64, 1024, 4),
            {"type": "summary", "undecoded": 0, "damage": None},
        ]
    )


EXPECTED = [
    records.pack(*request, 0) >> 10
    for request in (("Write", 0, 512), ("Write", 1, 512), ("Read", 64, 1024))
]
COUNTERS = {"queue": 4, "complete": 4}
STAT = {"reads": 2, "writes": 2, "read_sectors": 10, "write_sectors": 2}


def log_of(items):
    """The log of JSON objects, by way of text, as in real use."""
    return records.read(json.dumps(item) for item in items)


def violated(items, counters=None, stat=None, by_cpu=None, early=None):
    """Names of the properties that don't hold."""
    log = log_of(items)
    counters, stat = counters or COUNTERS, stat or STAT
    all_checks = [
        ("decodes", checks.everything_decodes(log)),
        ("account", checks.rings_account(log)),
        ("shown", checks.losses_are_shown(log)),
        ("silent", checks.nothing_silent(log, counters["queue"] + counters["complete"])),
        ("softirq", checks.softirq_rings_account(log, by_cpu or {0: 3, 1: 1})),
        ("lost", checks.nothing_lost(log)),
        ("kinds", checks.kinds_counted(log, counters)),
        ("disk", checks.disk_agrees(counters, stat)),
        ("sectors", checks.sectors_agree(log, stat)),
        ("load", checks.load_is_logged(log, EXPECTED)),
        ("time", checks.time_never_back(log)),
        ("order", checks.completions_follow(log)),
        ("order-lossy", checks.completions_follow(log, whole=False)),
        ("part", checks.is_part_of(log_of(early), log) if early else ()),
        ("cpus", checks.on_cpus(log, 2)),
    ]
    return [name for name, found in checks.run_all(all_checks) if found]


class Checks(unittest.TestCase):
    """One test for each way in which a log can be wrong."""

    def setUp(self):
        self.items = copy.deepcopy(good())

    @staticmethod
    def args(item):
        """A record's arguments by name."""
        return {arg["name"]: arg for arg in item["args"]}

    def record(self, verb, sector):
        """The record of that kind with that sector."""
        return next(
            item
            for item in self.items
            if item["type"] == "record"
            and item["format"].startswith(verb)
            and self.args(item)["sector"]["value"] == sector
        )

    def test_good_log_passes(self):
        self.assertEqual(violated(self.items), [])

    def test_good_log_without_order_in_the_file_passes(self):
        self.items.sort(key=lambda item: item.get("mono_ns", 0))
        self.assertEqual(violated(self.items), [])

    def test_softirqs_that_are_tasks(self):
        log = log_of(self.items)
        self.assertEqual(len(list(checks.softirqs_are_tasks(log, {0: 3, 1: 1}))), 2)
        for item in self.items:
            if item.get("context") == "softirq":
                item.update(context="task", pid=16 + item["cpu"], comm="ksoftirqd")
        log = log_of(self.items)
        self.assertEqual(list(checks.softirqs_are_tasks(log, {0: 3, 1: 1})), [])
        self.assertEqual(len(list(checks.softirqs_are_tasks(log, {}))), 1)

    def test_softirqs_in_a_shared_ring(self):
        for item in self.items:
            if item.get("ring") != 4:
                continue
            if item["type"] == "ring":
                item.update(context=None, cpu=None, shared=0)
            else:
                item.update(context="softirq", cpu=1, shared=0)
        self.assertEqual(violated(self.items), ["cpus"])
        self.assertIn("softirq", violated(self.items, by_cpu={0: 2, 1: 2}))
        # What the shared ring has lost may be any CPU's, but only once.
        log = log_of(self.items)
        log.rings["rnull", 4].lost = {"no-page": 2}
        self.assertEqual(list(checks.softirq_rings_account(log, {0: 4, 1: 2})), [])
        self.assertEqual(len(list(checks.softirq_rings_account(log, {0: 5, 1: 2}))), 1)
        self.assertEqual(len(list(checks.softirqs_are_tasks(log, {0: 3, 1: 1}))), 2)

    def test_record_missing(self):
        self.items.remove(self.record("queue", 1))
        found = violated(self.items)
        for name in ("account", "kinds", "load", "order"):
            self.assertIn(name, found)

    def test_record_missing_and_ring_in_on_it(self):
        self.items.remove(self.record("complete", 1))
        self.items[7]["taken"] -= 1
        found = violated(self.items)
        self.assertNotIn("account", found)
        for name in ("silent", "softirq", "kinds", "load", "sectors", "order"):
            self.assertIn(name, found)

    def test_record_twice(self):
        self.items.append(self.record("complete", 64))
        found = violated(self.items)
        for name in ("account", "kinds", "load", "order"):
            self.assertIn(name, found)

    def test_wrong_sector(self):
        self.args(self.record("complete", 64))["sector"]["value"] = 65
        found = violated(self.items)
        self.assertIn("load", found)
        self.assertIn("order", found)

    def test_wrong_operation(self):
        for fmt in ("queue", "complete"):
            self.args(self.record(fmt, 64))["op"]["value"] = "Write"
        found = violated(self.items)
        self.assertIn("load", found)
        self.assertIn("sectors", found)

    def test_wrong_size(self):
        for fmt in ("queue", "complete"):
            self.args(self.record(fmt, 0))["bytes"]["value"] = 1024
        found = violated(self.items)
        self.assertIn("load", found)
        self.assertIn("sectors", found)

    def test_load_that_the_stranger_ring_hides(self):
        self.items[1]["comm"] = "fio"
        self.assertEqual(violated(self.items), ["load"])

    def test_time_back_within_a_ring(self):
        self.record("queue", 1)["mono_ns"] = 9
        self.assertIn("time", violated(self.items))

    def test_completion_before_submission(self):
        self.record("queue", 64)["mono_ns"] = 51
        found = violated(self.items)
        self.assertIn("order", found)
        self.assertIn("order-lossy", found)

    def test_tag_reused_before_completion(self):
        self.record("complete", 0)["mono_ns"] = 35
        self.assertIn("order", violated(self.items))

    def test_equal_times_are_in_order(self):
        self.record("queue", 1)["mono_ns"] = 20
        self.record("queue", 64)["mono_ns"] = 50
        self.assertEqual(violated(self.items), [])

    def test_never_completed(self):
        self.items.remove(self.record("complete", 64))
        self.assertIn("order", violated(self.items))

    def test_loss_in_ring_is_counted(self):
        self.items[3]["lost"] = {"no-page": 2}
        found = violated(self.items)
        self.assertIn("lost", found)
        self.assertIn("silent", found)
        more = dict(COUNTERS, queue=6)
        self.assertNotIn("silent", violated(self.items, counters=more))

    def test_overwritten_is_counted(self):
        self.items[3]["taken"] = 5
        self.assertIn("account", violated(self.items))
        self.items[3]["overwritten"] = 2
        self.items.append(loss(2, "overwritten", 2))
        for item in self.items:
            if item["type"] == "record" and item["ring"] == 2:
                item["ordinal"] += 2
        found = violated(self.items)
        self.assertNotIn("account", found)
        self.assertNotIn("shown", found)
        self.assertIn("lost", found)

    def test_overwritten_is_shown_at_its_place(self):
        self.items[3]["taken"] = 4
        self.items[3]["overwritten"] = 2
        self.items.append(loss(2, "overwritten", 2))
        for item in self.items:
            if item["type"] == "record" and item["ring"] == 2:
                item["ordinal"] += 1
        self.assertIn("shown", violated(self.items))

    def test_loss_is_not_shown(self):
        self.items[3]["lost"] = {"nested": 2}
        self.assertIn("shown", violated(self.items))
        self.items.append(loss(2, "nested", 2))
        self.assertNotIn("shown", violated(self.items))

    def test_ordinals_go_up(self):
        self.record("queue", 1)["ordinal"] = 0
        self.assertIn("shown", violated(self.items))

    def test_gone_rings_count(self):
        self.items[0]["gone"] = 3
        found = violated(self.items)
        self.assertIn("lost", found)
        self.assertIn("silent", found)

    def test_loss_without_ring_counts(self):
        self.items[0]["lost"] = {"no-ring": 1}
        found = violated(self.items)
        self.assertIn("lost", found)
        self.assertIn("silent", found)

    def test_driver_counted_more(self):
        found = violated(self.items, counters={"queue": 5, "complete": 4})
        for name in ("silent", "kinds", "disk"):
            self.assertIn(name, found)

    def test_disk_did_more(self):
        stat = dict(STAT, writes=3, write_sectors=3)
        self.assertEqual(violated(self.items, stat=stat), ["disk", "sectors"])

    def test_other_cpu(self):
        self.assertEqual(violated(self.items, by_cpu={0: 2, 1: 2}), ["softirq"])

    def test_undecoded_and_damage(self):
        self.items[-1]["undecoded"] = 1
        self.assertEqual(violated(self.items), ["decodes"])
        self.items[-1].update(undecoded=0, damage="cut off")
        self.assertEqual(violated(self.items), ["decodes"])
        self.items[-1]["damage"] = None
        self.items[3]["damaged"] = 1
        self.assertEqual(violated(self.items), ["decodes"])

    def test_snapshot_is_the_beginning(self):
        early = [item for item in good() if item.get("mono_ns", 0) <= 30]
        self.assertEqual(violated(self.items, early=early), [])
        records_of_it = [item for item in early if item["type"] == "record"]
        self.args(records_of_it[-1])["sector"]["value"] += 1
        self.assertEqual(violated(self.items, early=early), ["part"])

    def test_completion_in_a_task(self):
        moved = self.record("complete", 64)
        moved["ring"] = 2
        found = violated(self.items)
        self.assertIn("cpus", found)

    def test_lossy_run(self):
        log = log_of(self.items)
        self.assertEqual(list(checks.load_is_logged(log, EXPECTED, whole=False)), [])
        self.assertTrue(list(checks.something_lost(log)))
        self.items.remove(self.record("queue", 0))
        log = log_of(self.items)
        self.assertEqual(list(checks.load_is_logged(log, EXPECTED, whole=False)), [])
        self.items.append(self.record("queue", 1))
        log = log_of(self.items)
        self.assertTrue(list(checks.load_is_logged(log, EXPECTED, whole=False)))

    def test_snapshot_under_load_may_hold_more(self):
        self.items[3]["taken"] = 1
        log = log_of(self.items)
        self.assertTrue(list(checks.rings_account(log)))
        self.assertEqual(list(checks.rings_account(log, still=False)), [])
        self.items[3]["taken"] = 4
        self.assertTrue(list(checks.rings_account(log_of(self.items), still=False)))


class Pattern(unittest.TestCase):
    """The load is what it says."""

    def test_each_request_once(self):
        total = 1000
        seen = list(pattern.expected(total))
        self.assertEqual(len(seen), len(set(seen)))
        self.assertGreaterEqual(len(seen), total)

    def test_regions_do_not_overlap(self):
        used = set()
        for _, sector, size in pattern.expected(800):
            blocks = set(range(sector, sector + size // pattern.SECTOR))
            self.assertFalse(used & blocks)
            used |= blocks

    def test_requests_pack(self):
        for op, sector, size in pattern.expected(80):
            for tag in (0, 255):
                packed = records.pack(op, sector, size, tag)
                self.assertEqual(records.unpack(packed), (op, sector, size, tag))

    def test_job_file_has_all_jobs(self):
        text = pattern.job_file(80)
        for job in pattern.JOBS:
            self.assertIn(f"[{job.name}]\nrw={job.rw}\nbs={job.block}\n", text)

    def test_too_many_are_refused(self):
        with self.assertRaises(ValueError):
            pattern.disk_mib(100_000_000)


if __name__ == "__main__":
    unittest.main()
