# SPDX-License-Identifier: GPL-2.0
"""KUnit suites in User Mode Linux and in QEMU, on several CPUs: BLog built in, as modules, on arm64
and riscv64, and as a module of Debian's own kernel, which has no KUnit
(tests/guest/stock/kunit.c stands for it).

Each case of the sources is a test, so CASE=blog_ring or a case's name runs only that.
"""

from collections.abc import Callable
from pathlib import Path

import kunit_run
import pytest
import vm
from conftest import by_kernel

FLAVOURS = by_kernel("uml", "x86", "arm64", "stock-kunit", "x86-y", "riscv64")


@pytest.fixture(scope="module", params=FLAVOURS)
def ran(request: pytest.FixtureRequest, work: Path) -> kunit_run.Ran:
    """One boot for all of a kernel's tests, or some that share them; of no more than one suite, if that
    is all."""
    items = [item for item in request.session.items if item.path == request.path]
    params = [item.callspec.params for item in items if hasattr(item, "callspec")]
    names = [str(p.get("case", "")) for p in params if p.get("ran") == request.param]
    suites = {name.partition(".")[0] for name in names}
    glob = ""
    if len(suites) == 1 and "" not in suites:
        glob = names[0] if len(names) == 1 else f"{suites.pop()}.*"
    if request.param == "uml" and not glob:
        return kunit_run.run_shared(work / request.param, request.param)
    done = kunit_run.run(work / request.param, request.param, glob=glob)
    assert not (glob and done.result.problem), done.result.told()
    return done


@pytest.mark.parametrize("case", kunit_run.cases())
def test_case(ran: kunit_run.Ran, case: str) -> None:
    assert not (wrong := ran.case(case)), wrong


def test_rest(ran: kunit_run.Ran) -> None:
    """The kernel has no complaint, and exactly the cases of the sources ran."""
    assert not (wrong := list(ran.rest())), "\n".join(wrong)


# --- what reads their output: no kernel is needed ------------------------------------------

EARLY = "blog_kunit: logged in an early parameter"
LOG = f"""\
[    0.010000] {EARLY}
[    0.100000] KTAP version 1
[    0.100000] 1..2
[    0.100000]     KTAP version 1
[    0.100000]     # Subtest: blog_one
[    0.100000]     1..2
[    0.200000]     ok 1 first
[    0.200000]     # second: ASSERTION FAILED at one.rs:7
[    0.200000]     not ok 2 second
[    0.200000] not ok 1 blog_one
[    0.300000]     KTAP version 1
[    0.300000]     # Subtest: blog_two
[    0.300000]     1..1
[    0.300000]     ok 1 third # SKIP no memory
[    0.300000] ok 2 blog_two # SKIP
[    1.000000] KTAP version 1
[    1.000000] 1..1
[    1.000000]     KTAP version 1
[    1.000000]     # Subtest: blog_module
[    1.000000]     1..1
[    1.000000]     ok 1 fourth
[    1.000000] ok 1 blog_module
"""
GOOD = LOG.replace("not ok", "ok").replace(" # SKIP no memory", "").replace(" # SKIP", "")
GOOD = "\n".join(line for line in GOOD.splitlines() if "ASSERTION" not in line)
CASES = ["blog_one.first", "blog_one.second", "blog_two.third", "blog_module.fourth"]


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], kunit_run.Ran]:
    """What a log has of these four cases, of a kernel that has the suites built in."""
    (tmp_path / ".config").write_text("CONFIG_BLOG_KUNIT_TEST=y\nCONFIG_BLOG_PARTS=y\n")

    def read(log: str, problem: str = "") -> kunit_run.Ran:
        kernel, guest = vm.Kernel("uml", tmp_path), vm.Guest.__new__(vm.Guest)
        guest.tail, guest.console = lambda: "the end", tmp_path  # type: ignore[method-assign]
        result = vm.Result(int(bool(problem)), problem, guest, tmp_path)
        return kunit_run.Ran(kernel, result, log, kunit_run.parse(log), CASES)

    return read


def test_a_log_without_a_fault_has_none(read: Callable[[str], kunit_run.Ran]) -> None:
    """Suites that are built in, and a module's, which come later in a report of their own."""
    ran = read(GOOD)
    assert not [ran.case(name) for name in CASES if ran.case(name)] and not list(ran.rest())


def test_a_case_that_fails_or_is_missing_is_noticed(read: Callable[[str], kunit_run.Ran]) -> None:
    ran = read(LOG)
    problems = {name: ran.case(name) for name in CASES}
    assert not problems["blog_one.first"] and not problems["blog_module.fourth"]
    assert problems["blog_one.second"].startswith("FAILURE")
    assert "ASSERTION FAILED at one.rs:7" in problems["blog_one.second"]
    assert problems["blog_two.third"].startswith("SKIPPED")
    assert ran.case("blog_one.gone") == "the case did not run"
    assert ran.case("blog_gone.first").startswith("the suite did not run")


# A change of the log without a fault, and what is said of it
FAULTS = {
    "a case is not in the sources": ("1 fourth", "1 fifth", "blog_module.fifth is not in the sourc"),
    "fewer cases than planned": ("1..2\n[    0.200000]", "1..3\n[    0.200000]", "blog_one: "),
    "no plan": ("[    0.100000]     1..2\n", "", "blog_one: SUCCESS, 2 of None"),
    "a case has a wrong number": ("ok 2 second", "ok 3 second", "blog_one: SUCCESS, 2 of 2"),
    "a suite fails": ("ok 2 blog_two", "not ok 2 blog_two", "blog_two: "),
    "no early call": (EARLY, "", "no call in an early parameter"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_rest_has_each_fault(fault: str, read: Callable[[str], kunit_run.Ran]) -> None:
    old, new, said = FAULTS[fault]
    assert old in GOOD
    found = list(read(GOOD.replace(old, new)).rest())
    assert found and found[0].startswith(said), found


def test_the_guest_s_problem_is_one_of_the_rest(read: Callable[[str, str], kunit_run.Ran]) -> None:
    (problem,) = read(GOOD, "the kernel complained").rest()
    assert problem.startswith("the kernel complained\nthe end")


def test_cases_are_those_of_the_sources(tmp_path: Path) -> None:
    """Of one suite; a function that is no test isn't one, and options don't hide a test."""
    source = tmp_path / "one.rs"
    source.write_text(
        "#[kunit_tests(blog_one)]\nmod tests {\n    #[test]\n    fn first() {}\n    fn helper() {}\n"
        "    #[test]\n    #[cfg(CONFIG_SMP)]\n    fn second() {}\n}\n"
    )
    assert kunit_run.cases_of(source) == ["blog_one.first", "blog_one.second"]
    source.write_text("#[test]\nfn first() {}\n")
    assert kunit_run.cases_of(source) == []
