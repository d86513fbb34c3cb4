# SPDX-License-Identifier: GPL-2.0
"""BLog without its parts: it needs nothing of them; it boots, tasks and interrupts log, and each
record is decoded or counted as lost. In the deep tier also with each part alone, and its KUnit
suite."""

import os
import re
import subprocess
from pathlib import Path

import kunit_run
import pytest
import vm
from conftest import TOP, Run, built

TORTURE = TOP / "tests/guest/torture"
# Writers in tasks, short-lived ones, softirqs and hard interrupts
KINDS = "worker storm timer tasklet hrtimer"
LEAST = 1_000
PARTS = sorted(path.parent.name for path in TOP.glob("blog/parts/*/mod.rs"))


def config_of(kernel: vm.Kernel) -> set[str]:
    """The parts that a kernel has."""
    return {part for part in PARTS if kernel.option(f"BLOG_{part.upper()}") == "y"}


def logs(kernel: vm.Kernel, here: Path) -> None:
    """Contexts of all kinds log; the verifier has each record, or knows why it was lost."""
    here.mkdir()
    params = here / "params"
    params.write_text("seconds=2\nmax_kb=0\nhelpers=reader\nmodule='workers=1 instances=4'\n")
    files = kernel.files() | {"torture/lib.sh": TORTURE / "lib.sh", "torture/params": params}
    result = vm.run(here, kernel, TORTURE / "run.sh", files=files, seconds=300)
    assert not result.problem, result.told()
    command: list[str | Path] = [built("blog-torture-verify"), "--sidetable", kernel.modules / "blog",
               "--kinds", KINDS.replace(" ", ","), result.out]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr
    found = re.search(r"^(\d+) attempted, (\d+) decoded from ", done.stdout, re.MULTILINE)
    assert found and min(map(int, found.groups())) >= LEAST, done.stdout


@pytest.mark.parametrize("part", PARTS)
def test_a_part_alone(part: str, work: Path, sh: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOG_PART", part)
    sh(TOP / "scripts/build-kernel", "uml-part", env=os.environ)
    kernel = vm.Kernel("uml-part", vm.places()[0] / "uml-part")
    # And what it depends on
    assert {part} <= config_of(kernel) <= {part, "ccall", "dumps"}
    logs(kernel, work / part)
    monkeypatch.setattr(vm, "asked", {"uml-part": ""})
    ran = kunit_run.run(work / f"{part}-kunit", "uml-part", glob=f"blog_{part}.*")
    cases = [case for case in kunit_run.cases() if case.startswith(f"blog_{part}.")]
    wrong = [problem for case in cases if (problem := ran.case(case))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.kernels("uml-core")
def test_the_core_alone(work: Path) -> None:
    kernel = vm.kernel("uml-core")
    assert not config_of(kernel)
    logs(kernel, work / "core")


def test_the_core_compiles_without_the_folder_of_parts(work: Path, sh: Run) -> None:
    """And needs nothing that only parts have."""
    sh(TOP / "scripts/core-asm", "--core", "yes", "--out", work / "asm")


# What stands in a copy of the core, and what the check says of it
FAULTS = {
    "a path": ("use crate::parts::hits::PART as _;", "parts::hits"),
    "a function in C": (
        '#[no_mangle]\nextern "C" fn blog_fault() {\n'
        '    unsafe extern "C" {\n        safe fn blog_words_start();\n    }\n'
        "    blog_words_start()\n}",
        "what only parts have:\nblog_words_start",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_use_of_a_part_is_found(fault: str, work: Path, sh: Run) -> None:
    text, said = FAULTS[fault]
    here = work / fault.replace(" ", "-")
    here.mkdir()
    sh("cp", "-r", *(TOP / folder for folder in ("blog", "packaging", "rust", "scripts")), here)
    with (here / "blog/life.rs").open("a") as life:
        life.write(f"\n{text}\n")
    command: list[str | Path] = [here / "scripts/core-asm", "--core", "yes", "--out", here / "asm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode and said in done.stderr, done.stderr
