# SPDX-License-Identifier: GPL-2.0
"""BLog in a kernel that watches itself (KASAN, lockdep, RCU and object debugging, see
scripts/config/debug-*.config), and with allocations that fail. Any complaint of the kernel
fails the run. Everything is slow there: the deep tier runs all, and "make test SUITE=debug" a
selection."""

from dataclasses import replace
from pathlib import Path

import kunit_run
import pytest
import vm
from conftest import Tap
from e2e import judge, load

pytestmark = pytest.mark.kernels("x86-debug")


@pytest.fixture
def deep(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.option.tier == "deep")


def test_kunit(work: Path, subtests: pytest.Subtests) -> None:
    """With lazy preemption; the rest is fully preemptible. Who waits for a case's end hangs after
    no less than KUnit's own patience."""
    args = "preempt=lazy sysctl.kernel.hung_task_timeout_secs=300"
    ran = kunit_run.run(work / "kunit", "x86-debug", args=args, seconds=1800)
    ran.check(subtests)


@pytest.mark.parametrize("name", load.LOADS)
def test_load(name: str, deep: bool, work: Path, decoder: Path, subtests: pytest.Subtests) -> None:
    """Lossy: while three in ten of BLog's allocations fail, and its size changes."""
    what = replace(load.LOADS[name], ios=100_000 if deep else 10_000)
    if name == "lossy":
        what = replace(what, size_kb=128, ring_kb=32, faults=30)
    seconds = 3600 if deep else 600
    judge.prove(work / name, vm.kernel("x86-debug"), what, decoder, subtests, seconds=seconds)


@pytest.mark.parametrize("script", ["faults", "control"])
def test_guest(script: str, deep: bool, work: Path, tap: Tap) -> None:
    """Each allocation fails once, then they fail at random; nothing leaks."""
    machine = vm.Machine(cpus=2, mem=1536, args="page_owner=on")
    what = load.Load(script, ios=20_000, deep=int(deep))
    seconds = 3600 if deep else 600
    result = load.run(work / script, vm.kernel("x86-debug"), what, machine=machine, seconds=seconds)
    tap(result.lines())
    assert not result.problem, result.told()
