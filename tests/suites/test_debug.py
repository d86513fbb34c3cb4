# SPDX-License-Identifier: GPL-2.0
"""BLog in a kernel that watches itself (KASAN, lockdep, RCU and object debugging, see
scripts/config/debug-*.config), and with allocations that fail; and KUnit, the end-to-end tests and
the control files with PREEMPT_RT, and with lazy and full preemption. Any complaint of the kernel
fails the run. Everything is slow there: the deep tier runs all, and "make test SUITE=debug" a
selection."""

from dataclasses import replace
from pathlib import Path

import kunit_run
import pytest
import selftests
import vm
from conftest import Tap
from e2e import judge, load

watched = pytest.mark.kernels("x86-debug")


@pytest.fixture
def deep(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.option.tier == "deep")


@watched
def test_kunit(work: Path, subtests: pytest.Subtests) -> None:
    """With lazy preemption; the rest is fully preemptible. Who waits for a case's end hangs after
    no less than KUnit's own patience."""
    args = "preempt=lazy sysctl.kernel.hung_task_timeout_secs=300"
    ran = kunit_run.run(work / "kunit", "x86-debug", args=args, seconds=1800)
    ran.check(subtests)


@watched
@pytest.mark.parametrize("name", load.LOADS)
def test_load(name: str, deep: bool, work: Path, decoder: Path, subtests: pytest.Subtests) -> None:
    """Lossy: while three in ten of BLog's allocations fail, and its size changes."""
    what = replace(load.LOADS[name], ios=100_000 if deep else 10_000)
    if name == "lossy":
        what = replace(what, size_kb=128, ring_kb=32, faults=30)
    seconds = 3600 if deep else 600
    judge.prove(work / name, vm.kernel("x86-debug"), what, decoder, subtests, seconds=seconds)


@watched
@pytest.mark.parametrize("script", ["faults", "control"])
def test_guest(script: str, deep: bool, work: Path, tap: Tap) -> None:
    """Each allocation fails once, then they fail at random; nothing leaks."""
    machine = vm.Machine(cpus=2, mem=1536, args="page_owner=on")
    kernel, seconds = vm.kernel("x86-debug"), 3600 if deep else 600
    if script == "control":
        result = selftests.guest(work / script, kernel, script, machine=machine, seconds=seconds)
    else:
        what = load.Load(script, ios=20_000, deep=int(deep))
        result = load.run(work / script, kernel, what, machine=machine, seconds=seconds)
    tap(result.lines())
    assert not result.problem, result.told()


# --- preemption models ------------------------------------------------------------------

MODELS = [
    pytest.param(
        flavour, f"preempt={model}", id=f"{flavour}-{model}", marks=pytest.mark.kernels(flavour)
    )
    for flavour in ("x86-debug", "x86-rt")
    for model in ("full", "lazy")
]
model = pytest.mark.parametrize("flavour, args", MODELS)


@model
def test_kunit_by_model(flavour: str, args: str, work: Path, subtests: pytest.Subtests) -> None:
    name = f"kunit-{flavour}-{args}"
    kunit_run.run(work / name, flavour, args=args, seconds=600).check(subtests)


@model
@pytest.mark.parametrize("name", load.LOADS)
def test_load_by_model(
    name: str, flavour: str, args: str, work: Path, decoder: Path, subtests: pytest.Subtests
) -> None:
    machine = vm.Machine(mem=2048, args=args)
    judge.prove(
        work / name, vm.kernel(flavour), load.LOADS[name], decoder, subtests,
        machine=machine, seconds=1200)  # fmt: skip


@model
def test_control_by_model(flavour: str, args: str, work: Path, tap: Tap) -> None:
    kernel, machine = vm.kernel(flavour), vm.Machine(mem=1536, args=args)
    here = work / f"control-{flavour}-{args}"
    result = selftests.guest(here, kernel, "control", machine=machine, seconds=1200)
    tap(result.lines())
    assert not result.problem, result.told()
