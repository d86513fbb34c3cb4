#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Reads a crash dump with the helpers of tools/drgn; with drgn itself where it is installed.

usage: read_dump.py DECODE DUMP SIDETABLES
"""

import contextlib
import io
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/drgn"))

import drgn_blog  # noqa: E402

try:
    import drgn
except ImportError:
    drgn = None


class Program:
    """What drgn has for a program, as far as the helpers look at it."""

    def __init__(self, core_dump_path):
        self.core_dump_path = core_dump_path
        self.cache = {}


def main():
    os.environ["BLOG_DECODE"], dump, tables = sys.argv[1:]
    if drgn:
        prog = drgn.Program()
        prog.set_core_dump(dump)
    else:
        prog = Program(dump)
    drgn_blog.blog_tables(prog, tables)
    rings = drgn_blog.blog_rings(prog)
    assert drgn_blog.blog_components(prog) and rings
    # Where only interrupts have logged, there is no task to ask for.
    tasks = [r["pid"] for r in rings if r["context"] == "task"]
    assert drgn_blog.blog_records(prog, *tasks[:1])
    for function in drgn_blog.print_blog_components, drgn_blog.print_blog_rings:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            function(prog)
        assert len(out.getvalue().splitlines()) > 1
    print("with drgn" if drgn else "with a stand-in for drgn")


main()
