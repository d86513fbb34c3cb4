# SPDX-License-Identifier: GPL-2.0
"""Version 1 of the series alone, on a clean tree: each patch compiles, KUnit's cases pass, rnull logs,
and a snapshot is the same by blog-decode and by the program that comes with the series."""

import os
import re
import sys
from pathlib import Path

import kunit_run
import pytest
import vm
from conftest import TOP, Run

PAGES = 100


def listed(sh: Run, command: str) -> list[str]:
    said: str = sh("bash", "-c", f". scripts/lib/lib.sh; TREE_SERIES=first; {command}", cwd=TOP)
    return said.splitlines()


def test_each_patch_compiles(sh: Run) -> None:
    """With CONFIG_BLOG=y from the patch on that has it; a warning is an error. And the last one also
    without it."""
    patches = listed(sh, "series_lines first first | sed 's/^?//; s/[ \t].*//'")
    assert patches
    for patch in patches:
        sh(TOP / "scripts/build-kernel", "uml-first", env=os.environ | {"TREE_SERIES": patch})
    sh(TOP / "scripts/build-kernel", "uml-first", "uml-n-first")
    assert vm.Kernel("uml-first", vm.places()[0] / "uml-first").option("BLOG") == "y"


@pytest.mark.kernels("uml-first")
def test_kunit(work: Path, sh: Run, subtests: pytest.Subtests) -> None:
    ran = kunit_run.run(work / "kunit", "uml-first")
    paths = [TOP / path for path in listed(sh, "tree_files | cut -f2")]
    ran.known = [case for path in paths for case in kunit_run.cases_of(path)]
    assert ran.known
    ran.check(subtests)


@pytest.mark.kernels("uml-first")
def test_snapshot(work: Path, decoder: Path, sh: Run) -> None:
    """Each page is queued and completed once, with the same numbers."""
    kernel = vm.kernel("uml-first")
    result = vm.run(work / "snapshot", kernel, TOP / "tests/guest/e2e/first.sh")
    assert not result.problem, result.told()
    snapshot, image = result.out / "snapshot", kernel.build / "vmlinux"
    said = sh(decoder, "show", "--sidetable", image, "--modules", "/nowhere",
              "--format", "{message}", snapshot)  # fmt: skip
    found = re.findall(r"(queue|complete) sector=(\d+) bytes=4096 tag=\d+", said)
    # The first page was read when the disk came.
    sectors = [8 * n for n in range(1, PAGES + 1)]
    for kind in ("queue", "complete"):
        ours = sorted(int(sector) for what, sector in found if what == kind and sector != "0")
        assert ours == sectors, said
    other = sh(sys.executable, TOP / "tools/blog/blog-snapshot.py", snapshot, image)
    assert re.findall(r"(queue|complete) sector=(\d+) bytes=4096 tag=\d+", other) == found
