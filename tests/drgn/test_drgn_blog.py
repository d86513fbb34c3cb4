#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests tools/drgn without drgn, with the real decoder and a log whose records are known.

usage: test_drgn_blog.py DECODE SNAPSHOT SIDETABLE, where SNAPSHOT is one that
tools/blog-decode/tests/biglog.rs has made.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/drgn"))

import drgn_blog  # noqa: E402

DECODE, SNAPSHOT, TABLE = (os.path.abspath(path) for path in sys.argv[1:4])


class Value:
    """What drgn has for an integer."""

    def __init__(self, value):
        self._value = value

    def value_(self):
        return self._value


class Task:
    """What drgn has for a struct task_struct *, as far as the helpers look at it."""

    def __init__(self, pid):
        self.pid = Value(pid)


class Program:
    """What drgn has for a program."""

    def __init__(self, core_dump_path=None):
        self.core_dump_path = core_dump_path
        self.cache = {}


def printed(function, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function(*args)
    return out.getvalue().splitlines()


class Live(unittest.TestCase):
    """The running kernel's snapshot is the test's."""

    def setUp(self):
        os.environ["BLOG_DECODE"] = DECODE
        self.live, drgn_blog.LIVE = drgn_blog.LIVE, SNAPSHOT
        self.prog = Program()
        drgn_blog.blog_tables(self.prog, TABLE)
        said = subprocess.run([DECODE, "--json", "-s", TABLE, SNAPSHOT], capture_output=True,
                              check=True).stdout
        self.all = [json.loads(line) for line in said.splitlines()]
        self.pids = sorted({r["pid"] for r in self.all if r["pid"] is not None})
        self.assertTrue(self.pids)

    def tearDown(self):
        drgn_blog.LIVE = self.live

    def test_the_running_kernel_is_read_from_debugfs(self):
        for path in (None, "/proc/kcore"):
            self.assertEqual(drgn_blog.blog_snapshot(Program(path)), SNAPSHOT)
        self.assertEqual(self.live, "/sys/kernel/debug/blog/snapshot")

    def test_components_and_rings_add_up(self):
        records = [r for r in self.all if r["type"] == "record"]
        components = drgn_blog.blog_components(self.prog)
        self.assertEqual({c["component"] for c in components}, {r["component"] for r in records})
        self.assertEqual(sum(c["records"] for c in components), len(records))
        for c in components:
            rings = drgn_blog.blog_rings(self.prog, c["component"])
            self.assertEqual(len(rings), c["rings"])
            self.assertEqual(sum(r["records"] for r in rings), c["records"])
        self.assertEqual(drgn_blog.blog_rings(self.prog, "no such"), [])

    def test_a_tasks_last_records(self):
        for pid in self.pids:
            mine = [r for r in self.all if r["pid"] == pid]
            self.assertEqual(drgn_blog.blog_records(self.prog, pid), mine)
            self.assertEqual(drgn_blog.blog_records(self.prog, Task(pid), n=3), mine[-3:])
        self.assertEqual(drgn_blog.blog_records(self.prog, self.pids[0], n=0), [])
        self.assertEqual(drgn_blog.blog_records(self.prog), self.all)
        self.assertEqual(drgn_blog.blog_records(self.prog, 2**31 - 1), [])

    def test_what_is_printed(self):
        pid = self.pids[0]
        mine = [r for r in self.all if r["pid"] == pid]
        lines = printed(drgn_blog.print_blog_records, self.prog, Task(pid), 2)
        self.assertEqual(len(lines), 2)
        for line, record in zip(lines, mine[-2:]):
            self.assertTrue(line.endswith(record["message"]), line)
            self.assertIn(record["component"], line)
        component = mine[0]["component"]
        lines = printed(drgn_blog.print_blog_components, self.prog)
        self.assertIn(component, [line.split()[-1] for line in lines[1:]])
        lines = printed(drgn_blog.print_blog_rings, self.prog, component)
        self.assertTrue(any(str(pid) in line.split() for line in lines[1:]), lines)

    def test_losses_are_lines(self):
        lost = {"type": "lost", "boot_ns": 5, "component": "x", "count": 7, "cause": "nested"}
        before, drgn_blog._objects = drgn_blog._objects, lambda *_: iter([lost])
        try:
            lines = printed(drgn_blog.print_blog_records, self.prog)
        finally:
            drgn_blog._objects = before
        self.assertIn("----- 7 records lost here (nested)", lines[0])

    def test_errors_are_said(self):
        drgn_blog.LIVE = "/nowhere/snapshot"
        with self.assertRaisesRegex(RuntimeError, "nowhere"):
            drgn_blog.blog_components(self.prog)
        os.environ["BLOG_DECODE"] = "/nowhere/blog-decode"
        with self.assertRaisesRegex(FileNotFoundError, "BLOG_DECODE"):
            drgn_blog.blog_components(self.prog)

    def test_a_damaged_snapshot_warns_and_gives_what_is_whole(self):
        with tempfile.NamedTemporaryFile() as cut:
            with open(SNAPSHOT, "rb") as whole:
                data = whole.read()
            cut.write(data[: len(data) * 2 // 3])
            cut.flush()
            drgn_blog.LIVE = cut.name
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                some = drgn_blog.blog_records(self.prog)
        self.assertTrue(said)
        self.assertTrue(0 < len(some) < len(self.all))


class Dump(unittest.TestCase):
    """A dump is extracted once. What stands in for the decoder says what it was asked."""

    def test_a_dump_is_extracted_once(self):
        with tempfile.TemporaryDirectory() as folder:
            decode, asked = os.path.join(folder, "decode"), os.path.join(folder, "asked")
            with open(decode, "w", encoding="ascii") as script:
                script.write(
                    "#!/bin/sh\n"
                    f'echo "$1" >>{asked}\n'
                    f'[ "$1 $2 $3 $4" = "extract --vmcore /dumps/a b -o" ] && exec cp {SNAPSHOT} "$5"\n'
                    f'exec {DECODE} "$@"\n')
            os.chmod(decode, 0o755)
            os.environ["BLOG_DECODE"] = decode
            prog = Program("/dumps/a b")
            drgn_blog.blog_tables(prog, TABLE)
            self.assertTrue(drgn_blog.blog_records(prog, n=5))
            self.assertTrue(drgn_blog.blog_components(prog))
            with open(asked, encoding="ascii") as said:
                self.assertEqual(said.read().split(), ["extract", "show", "stats"])
            self.assertTrue(os.path.exists(drgn_blog.blog_snapshot(prog)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
