# SPDX-License-Identifier: GPL-2.0
"""The exact costs of a log call, and the pages that have them.

The suite counts instructions with QEMU, bytes in the ring and of a call site, beside
trace_printk(), TRACE_EVENT and pr_debug() in the same boot. Costs that depend on the machine
(times, fio) are left to scripts/bench. The model of cache lines is among the host tests.
"""

import copy
import json
import subprocess
import warnings
from pathlib import Path

import pytest
from bench import bounds, tables
from bench import run as benchmark
from conftest import TOP, Run, by_kernel

KEPT = json.loads(tables.KEPT.read_text())
# What is measured: a change there may change the numbers.
MEASURED = (
    "rust/kernel/blog", "rust/macros/blog", "include/linux/blog_call.h", "blog/write",
    "blog/memory/pool", "packaging/stock", "packaging/anykernel", "tests/modules/bench",
    "tests/bench")  # fmt: skip


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
    result = benchmark.run(setup, benchmark.SETUPS[setup], work / setup)
    print(tables.show(setup, result))
    for verdict in bounds.verdicts(setup, result):
        with subtests.test(msg=verdict.text):
            assert verdict.state == bounds.MET, verdict.measured


@pytest.mark.parametrize("bound", bounds.BOUNDS["instructions"], ids=lambda bound: bound.text)
def test_a_bound_is_met_and_can_be_missed(bound: bounds.Bound) -> None:
    """By the kept result; and by one in which each number of BLog is 8 times as large."""
    result = KEPT["instructions"]
    assert bound.least <= bound.measure(result) <= bound.most
    worse = copy.deepcopy(result)
    ours = [
        numbers for case, numbers in worse["costs"].items() if case.startswith(("blog", "none"))
    ]
    for numbers in (*ours, worse["single"], *worse["sites"].values(), worse["bytes"]["blog"]):
        for name in numbers:
            numbers[name] = 8 * (numbers[name] or 1)
    assert not bound.least <= bound.measure(worse) <= bound.most


def test_a_number_that_is_missing_is_not_met() -> None:
    empty: dict[str, object] = {"costs": {}, "single": {}, "sites": {}, "bytes": {}}
    assert {v.state for v in bounds.verdicts("instructions", empty)} == {bounds.UNKNOWN}


@pytest.mark.parametrize("words", [["nativ"], ["instructions", "round=3"]])
def test_what_is_unknown_is_refused(sh: Run, words: list[str]) -> None:
    sh(TOP / "scripts/bench", *words, status=[2])


@pytest.mark.parametrize("page", tables.PAGES)
def test_pages_have_the_kept_results(page: str) -> None:
    """Else: scripts/bench docs."""
    text = (TOP / page).read_text()
    assert tables.MARK.search(text) and text == tables.into(text, KEPT)


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=TOP, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_results_name_a_commit_that_there_is() -> None:
    if git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone doesn't have the commits that were measured")
    for result in KEPT.values():
        git("merge-base", "--is-ancestor", result["commit"], "HEAD")


def test_results_are_of_what_there_is_now() -> None:
    """Only a warning: to measure again takes an idle machine."""
    for setup, result in KEPT.items():
        if count := int(git("rev-list", "--count", f"{result['commit']}..HEAD", "--", *MEASURED)):
            warnings.warn(f"{setup}: {count} commits changed what was measured", stacklevel=1)
