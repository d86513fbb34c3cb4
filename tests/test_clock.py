# SPDX-License-Identifier: GPL-2.0
"""Each clock that the rings can have, in a machine that sleeps in RAM.

What is logged between two looks at other clocks decodes to times between them, before
and after the sleep, and after the TSC has turned out to be unstable; another clock is
refused by name.
"""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run

KERNELS = "x86"
TESTS = 12
SECONDS = 90

CLOCKS = ("mono", "tsc", "auto")
# /proc/uptime counts in hundredths of a second.
GRAIN = 0.01


@dataclass
class Look:
    """What clocks said at one instant."""

    name: str  # of the rings' clock
    boot: float
    mono: float  # without sleep
    wall: str


@pytest.fixture(scope="module", params=CLOCKS)
def guest(request: pytest.FixtureRequest, work: Path) -> vm.Result:
    """One that logs and sleeps by this clock; by a TSC that it trusts, if that is auto."""
    kernel, clock = vm.kernel(KERNELS), request.param
    trust = " setcpuid=constant_tsc,nonstop_tsc" if clock == "auto" else ""
    script, machine = (
        TOP / "tests/e2e/guest/clock.sh",
        vm.Machine(2, args=f"blog_clock={clock}{trust}"),
    )
    result = vm.run(
        work / clock, kernel, script, files=kernel.files(), machine=machine, seconds=180
    )
    assert not result.problem, result.told()
    return result


def clock_of(guest: vm.Result) -> str:
    return guest.out.parent.name


def looks(guest: vm.Result) -> list[Look]:
    """Two each before, after a sleep that failed, after one, and after the loss of trust."""
    lines = [line.split() for line in (guest.out / "looks").read_text().splitlines()]
    return [
        Look(name, float(boot), int(mono) / 1e9, wall)
        for name, boot, mono, wall in lines
    ]


def test_name(guest: vm.Result) -> None:
    """The rings' clock is as it was asked for; where trust is lost, it is then mono."""
    clock = clock_of(guest)
    wanted = ["tsc"] * 6 + ["mono"] * 2 if clock == "auto" else [clock] * 6
    assert [look.name for look in looks(guest)] == wanted


def test_times(guest: vm.Result, decoder: Path, sh: Run) -> None:
    """Records have times between two looks, since boot, without sleep, and of the day."""
    told = sh(decoder, "-s", vm.kernel(KERNELS).modules, "--component", "rust_blog", "--format",
              "{boot} {mono} {wall}", guest.out / "snapshot")  # fmt: skip
    all_looks, counts = looks(guest), Counter[int]()
    for line in told.splitlines():
        boot, mono, wall = line.split(maxsplit=2)
        for place in range(0, len(all_looks), 2):
            first, last = all_looks[place : place + 2]
            if (
                first.boot - GRAIN <= float(boot) <= last.boot + GRAIN
                and first.mono - GRAIN <= float(mono) <= last.mono + GRAIN
                and first.wall <= wall[:19] <= last.wall
            ):
                counts[place] += 1
                break
        else:
            pytest.fail(f"not in time: {line}; looks: {all_looks}")
    assert len(counts) == len(all_looks) / 2 and len(set(counts.values())) == 1, counts


def test_breaks(guest: vm.Result) -> None:
    """The sleep is a break, and so is the loss of trust; in the first one, the machine slept
    for some seconds. The rings' clock never goes back."""
    form = r"^(start|before|after|now) \S+ (\d+) \S+ (\d+) \S+ (\d+)"
    found = re.findall(form, (guest.out / "clock").read_text(), re.MULTILINE)
    points = [(what, int(clock), int(mono), int(boot)) for what, clock, mono, boot in found]
    clocks = [clock for _, clock, _, _ in points]
    assert all(a < b for a, b in pairwise(clocks)), points
    breaks = [n for n, point in enumerate(points) if point[0] == "after"]
    assert len(breaks) == (2 if clock_of(guest) == "auto" else 1), points
    (_, _, mono, boot), (_, _, later_mono, later_boot) = points[breaks[0] - 1 : breaks[0] + 1]
    assert later_boot - boot - (later_mono - mono) >= 3e9, points


def test_another_clock_is_refused_by_name(guest: vm.Result) -> None:
    assert (guest.out / "refused").read_text()
