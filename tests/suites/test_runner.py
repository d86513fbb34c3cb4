# SPDX-License-Identifier: GPL-2.0
"""What judges all guests is judged here, by texts alone: complaints of kernels, TAP, and which tests
run when."""

import re

import plan
import pytest
import vm
from conftest import TOP, results, suite_of

SETUP = "pytest"
FLAVOURS = TOP / "scripts/lib/kernel.sh"
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


# --- which tests run when -----------------------------------------------------------------

TIERS = """
fast = ["quick"]
fast_kernels = ["uml"]
gate_kernels = ["uml", "stock"]
[kernels]
x86 = "slow to build"
[suites]
long = "hours"
[tests]
"quick::test_a[*-long]" = "minutes"
"quick::test_b[x]" = "also minutes"
"""


def of(suite: str, name: str, *kernels: str, named: bool = False) -> tuple[str, str]:
    return plan.Tiers(TIERS).of(plan.Test(suite, name, frozenset(kernels)), named)


def test_a_test_has_the_tier_of_its_suite_and_of_its_kernels() -> None:
    assert of("quick", "test_a", "uml") == of("quick", "test_a") == ("fast", "")
    assert of("quick", "test_a", "stock") == of("other", "test_a", "uml") == ("full", "")
    assert of("other", "test_a", "uml", "x86") == ("deep", "slow to build")
    assert of("long", "test_a") == ("deep", "hours")


def test_a_test_of_the_night_is_found_by_its_pattern() -> None:
    """Brackets are no set of letters."""
    assert of("quick", "test_a[uml-long]") == ("deep", "minutes")
    assert of("quick", "test_b[x]") == ("deep", "also minutes")
    assert of("quick", "test_bx")[0] == of("quick", "test_a[uml]")[0] == "fast"


def test_a_named_suite_runs_but_for_its_tests_of_the_night() -> None:
    assert of("long", "test_a", "x86", named=True) == ("full", "")
    assert of("other", "test_a", "uml", named=True) == ("fast", "")
    assert of("other", "test_a", "x86", named=True) == ("deep", "slow to build")
    assert of("quick", "test_b[x]", named=True) == ("deep", "also minutes")


def test_what_no_test_is_like_is_known() -> None:
    tiers = plan.Tiers(TIERS)
    tiers.of(plan.Test("long", "test_a", frozenset(["x86"])))
    assert tiers.unused() == ["quick::test_a[*-long]", "quick::test_b[x]"]


def test_the_table_names_suites_tests_and_kernels_that_there_are() -> None:
    """scripts/test -t deep --list compares parameters, too: for that it needs all packages."""
    tiers = plan.Tiers(plan.TABLE.read_text())
    texts = {suite_of(path): path.read_text() for path in TOP.glob("tests/suites/test_*.py")}
    assert {*tiers.suites, *tiers.fast} <= texts.keys()
    for pattern in tiers.tests:
        suite, name = pattern.split("::")
        assert f"\ndef {name.partition('[')[0]}(" in texts[suite], pattern
    flavours = re.search(r"kernel_flavours\(\) \{ echo (.*); \}", FLAVOURS.read_text())
    assert flavours
    known = {*flavours[1].split(), "stock", "stock-kunit"}
    assert {*tiers.kernels} | tiers.gate_kernels <= known
    assert not {*tiers.kernels} & tiers.gate_kernels and all(map(len, tiers.kernels.values()))


XML = """<testsuites><testsuite><properties><property name="kernel uml" value="300"/></properties>
<testcase classname="tests.suites.test_one" name="test_a[x: y]" time="2.5"/>
<testcase classname="tests.suites.test_one" name="test_a[x: y]: subtest" time="0.0"/>
<testcase classname="tests.suites.test_one" name="test_a[z]" time="3.5"/>
<testcase classname="tests.suites.test_one" name="test_a[long]" time="61.2"/>
<testcase classname="tests.suites.test_one" name="test_b" time="4.3"/>
</testsuite></testsuites>"""
FOUND = {"kernel uml": 300, "one::test_a": 3.0, "one::test_a[long]": 61}


def test_seconds_are_measured_by_function_and_for_long_tests() -> None:
    assert plan.measured(XML) == FOUND


def test_a_run_replaces_the_seconds_of_what_it_ran() -> None:
    """What it has not run stays, but for tests that are gone."""
    old = plan.Seconds("# head\n9 one::test_a\n99 one::test_a[night]\n7 one::gone\n8 two::test_c\n")
    text = old.learn(FOUND, {"one::test_a", "two::test_c"})
    assert text == (
        "300 kernel uml\n3 one::test_a\n61 one::test_a[long]\n99 one::test_a[night]\n8 two::test_c\n"
    )
    new = plan.Seconds(text)
    assert (
        new.of(plan.Test("one", "test_a[z]")) == 3
        and new.of(plan.Test("one", "test_a[long]")) == 61
    )
    assert new.of_kernel("uml") == 300 and new.of(plan.Test("two", "test_new")) < 1


def test_parts_have_all_tests_once_and_are_even() -> None:
    """A kernel is built where its tests are, and a suite stays whole, unless it is too long."""
    seconds = plan.Seconds(
        "1000 kernel a\n1000 kernel b\n100 s::test\n10 t::test\n500 long::test\n"
    )
    tests = [plan.Test("long", f"test[{n}]") for n in range(8)]
    tests += [plan.Test(f"s{n}", "test", frozenset(["ab"[n % 2]])) for n in range(10)]
    parts = plan.share(tests, seconds, 4)
    assert sorted(map(str, (t for part in parts for t in part.tests))) == sorted(map(str, tests))
    assert sum(any("a" in test.kernels for test in part.tests) for part in parts) == 1
    walls = [part.wall() for part in parts]
    assert max(walls) <= 2 * min(walls)
    (whole,) = plan.share(tests, seconds, 1)
    assert whole.tests and set(whole.tests) == set(tests)
