# SPDX-License-Identifier: GPL-2.0
"""What judges all guests is judged here, by texts alone: complaints of kernels and TAP."""

import re

import pytest
import vm
from conftest import TOP, results

SETUP = "pytest"
TIER = "fast"

# Real messages of Linux
COMPLAINTS = (TOP / "tests/complaints.txt").read_text().splitlines()
INNOCENT = """\
kmemleak: Kernel memory leak detector initialized (mem pool available: 14000)
kasan: KernelAddressSanitizer initialized (generic)
Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
NMI backtrace for cpu 1
Call Trace:
sysrq: Show backtrace of all active CPUs
rcu: RCU lockdep checking is enabled.
page_owner is enabled""".splitlines()


@pytest.mark.parametrize("line", COMPLAINTS)
def test_a_complaint_is_noticed(line: str) -> None:
    assert vm.COMPLAINTS.search(f"[    1.000000] {line}")


@pytest.mark.parametrize("kind", vm.KINDS)
def test_without_a_kind_its_message_is_missed(kind: str) -> None:
    others = re.compile("|".join(other for other in vm.KINDS if other != kind))
    assert [line for line in COMPLAINTS if not others.search(line)]


@pytest.mark.parametrize("line", INNOCENT)
def test_no_complaint_is_none(line: str) -> None:
    assert not vm.COMPLAINTS.search(line)


# --- TAP ------------------------------------------------------------------------------


def test_lines_before_a_failure_explain_it() -> None:
    lines = ["why not", "ok - one", "because", "not ok - two", "not ok - three", "1..3"]
    assert list(results(lines)) == [("one", ""), ("two", "because"), ("three", "three")]


@pytest.mark.parametrize(
    "lines",
    [["ok - one", "1..2"], ["ok - one"], [], ["ok - one", "not ok - two", "1..1"], ["1..1"]],
    ids=["a test is missing", "no plan", "nothing", "a test too many", "no test"],
)  # fmt: skip
def test_a_plan_that_is_not_kept_is_a_failure(lines: list[str]) -> None:
    with pytest.raises(AssertionError, match="planned are"):
        list(results(lines))
