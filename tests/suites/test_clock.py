# SPDX-License-Identifier: GPL-2.0
"""Each clock that the rings can have, in a machine that sleeps in RAM.

Records between two readings of other clocks decode to times between these, before and after
the sleep, and after any other event that ends the trust in a counter. An unknown clock is refused.
"""

import struct
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run

pytestmark = pytest.mark.kernels("x86")

# The clock, and what happens to it besides a sleep
WAYS = {"mono": ("mono", ""), "counter": ("counter", ""), "distrust": ("auto", "distrust"),
        "xen": ("counter", "xen")}  # fmt: skip
# /proc/uptime counts in hundredths of a second.
GRAIN = 0.01
SECOND = 10**9


@dataclass
class Look:
    """The values of all clocks at one instant."""

    name: str  # of the rings' clock
    boot: float
    mono: float  # without sleep
    wall: str


@dataclass
class Pair:
    """One instant in all clocks, by a snapshot."""

    clock: int
    mono: int
    boot: int
    real: int
    local: int


@pytest.fixture(scope="module", params=WAYS)
def guest(request: pytest.FixtureRequest, work: Path) -> vm.Result:
    """One that logs and sleeps by this clock; by a counter that it trusts, if that is auto."""
    kernel, (clock, way) = vm.kernel("x86"), WAYS[request.param]
    trust = " setcpuid=constant_tsc,nonstop_tsc" if clock == "auto" else ""
    script, machine = (
        TOP / "tests/guest/e2e/clock.sh",
        vm.Machine(2, args=f"printk.time=1 blog_clock={clock} blog_way={way}{trust}"),
    )
    result = vm.run(
        work / request.param, kernel, script, files=kernel.files(), machine=machine, seconds=180
    )
    assert not result.problem, result.told()
    return result


def way_of(guest: vm.Result) -> str:
    return guest.out.parent.name


def looks(guest: vm.Result) -> list[Look]:
    """Two each: before, after the loss of trust, after a sleep that failed, and after one."""
    lines = [line.split() for line in (guest.out / "looks").read_text().splitlines()]
    return [Look(name, float(boot), int(mono) / 1e9, wall) for name, boot, mono, wall in lines]


def clock_section(guest: vm.Result) -> tuple[int, list[Pair]]:
    """Kind and pairs: see "Clock" in Documentation/blog/formats.rst."""
    data, at = (guest.out / "snapshot").read_bytes(), 32
    while at < len(data):
        _, section, _, length = struct.unpack_from("<IHHQ", data, at)
        if section == 2:
            kind, count = struct.unpack_from("<II", data, at + 32)
            first = at + 48
            return kind, [
                Pair(*struct.unpack_from("<5Q", data, first + 40 * n)) for n in range(count)
            ]
        at += 32 + -(-length // 8) * 8
    pytest.fail("no Clock section")


def test_name(guest: vm.Result) -> None:
    """The rings' clock is the requested one, and mono after the event that ends it."""
    wanted = {"mono": ["mono"] * 6, "counter": ["counter"] * 4 + ["mono"] * 2}
    others = ["counter"] * 2 + ["mono"] * 6
    assert [look.name for look in looks(guest)] == wanted.get(way_of(guest), others)


def test_times(guest: vm.Result, decoder: Path, sh: Run) -> None:
    """Records have times between two looks, since boot, without sleep, and of the day."""
    told = sh(decoder, "-s", vm.kernel("x86").modules, "--component", "rust_blog", "--format",
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


def test_pairs(guest: vm.Result) -> None:
    """The clock changes once at most, and never goes back; the machine slept once, for some
    seconds."""
    kind, pairs = clock_section(guest)
    assert 4 <= len(pairs) <= 65, pairs
    steps = list(pairwise(pairs))
    assert all(a.clock < b.clock and a.mono <= b.mono for a, b in steps), pairs
    breaks = [(a, b) for a, b in steps if b.clock - a.clock >= 1 << 36 and a.mono == b.mono]
    assert (kind, len(breaks)) == ((1, 0) if way_of(guest) == "mono" else (3, 1)), pairs
    slept = [(b.boot - a.boot) - (b.mono - a.mono) for a, b in steps]
    assert len([ns for ns in slept if ns >= 3 * SECOND]) == 1, pairs
    # Without a sleep, syscore operations measure one by a clock of whole seconds.
    most = SECOND if way_of(guest) == "xen" else SECOND // 10
    assert all(ns < most or ns >= 3 * SECOND for ns in slept), pairs


def test_local(guest: vm.Result) -> None:
    """By the pairs, lines of the kernel's log get the time at which they were written."""
    _, pairs = clock_section(guest)
    lines = [
        line
        for line in (guest.out / "dmesg").read_text().splitlines()
        if "blog-clock: look" in line
    ]
    assert len(lines) == len(looks(guest))
    for line, look in zip(lines, looks(guest), strict=True):
        local = float(line.strip("[").split("]")[0]) * SECOND
        at = min(bisect_right([pair.local for pair in pairs], local), len(pairs) - 1)
        a, b = pairs[at - 1], pairs[at]
        boot = a.boot + (b.boot - a.boot) * (local - a.local) / max(b.local - a.local, 1)
        assert abs(boot / SECOND - look.boot) <= 0.05, (line, look, a, b)
