# SPDX-License-Identifier: GPL-2.0
"""Opens a crash dump in drgn and reads it with the helpers of tools/drgn.

usage: read_dump.py DECODE DUMP SIDETABLES
"""

import contextlib
import io
import os
import sys
from pathlib import Path

import drgn
from drgn.commands import run_command

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/drgn"))

import drgn_blog  # noqa: E402


def main() -> None:
    os.environ["BLOG_DECODE"], dump, tables = sys.argv[1:]
    prog = drgn.Program()
    prog.set_core_dump(dump)
    # What drgn itself knows of the dump
    assert prog.flags & drgn.ProgramFlags.IS_LINUX_KERNEL, "drgn sees no kernel in it"
    drgn_blog.blog_tables(prog, tables)
    rings = drgn_blog.blog_rings(prog)
    assert drgn_blog.blog_components(prog)
    # Where only interrupts have logged, there is no task to ask for.
    tasks = [r["pid"] for r in rings if r["context"] == "task"]
    assert drgn_blog.blog_records(prog, *tasks[:1])
    for function in drgn_blog.print_blog_components, drgn_blog.print_blog_rings:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            function(prog)
        assert len(out.getvalue().splitlines()) > 1
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run_command(prog, "blog tasks --all")
    assert len(out.getvalue().splitlines()) > 1
    print(f"drgn {drgn.__version__}: {len(rings)} rings")


main()
