# SPDX-License-Identifier: GPL-2.0
"""KUnit suites in User Mode Linux and in QEMU, on several CPUs: BLog built in, as modules, on arm64
and riscv64, and as a module of Debian's own kernel, which has no KUnit
(tests/guest/stock/kunit.c stands for it).

Each case of the sources is a test, so CASE=blog_ring or a case's name runs only that.
"""

from pathlib import Path

import kunit_run
import pytest
from conftest import by_tier

SECONDS = 60
TIER = "fast"

FLAVOURS = by_tier(fast="uml", full="x86", deep="arm64 stock-kunit x86-y riscv64")


@pytest.fixture(scope="module", params=FLAVOURS)
def ran(request: pytest.FixtureRequest, work: Path) -> kunit_run.Ran:
    """One boot for all of a kernel's tests; of no more than one suite, if that is all."""
    items = [item for item in request.session.items if item.path == request.path]
    params = [item.callspec.params for item in items if isinstance(item, pytest.Function)]
    names = [str(p.get("case", "")) for p in params if p["ran"] == request.param]
    suites = {name.partition(".")[0] for name in names}
    glob = ""
    if len(suites) == 1 and "" not in suites:
        glob = names[0] if len(names) == 1 else f"{suites.pop()}.*"
    done = kunit_run.run(work / request.param, request.param, glob=glob)
    assert not (glob and done.result.problem), done.result.told()
    return done


@pytest.mark.parametrize("case", kunit_run.cases())
def test_case(ran: kunit_run.Ran, case: str) -> None:
    assert not (wrong := ran.case(case)), wrong


def test_rest(ran: kunit_run.Ran) -> None:
    """The kernel has no complaint, and exactly the cases of the sources ran."""
    assert not (wrong := list(ran.rest())), "\n".join(wrong)
