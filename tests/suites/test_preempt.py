# SPDX-License-Identifier: GPL-2.0
"""Preemption models that no other suite has: KUnit, the end-to-end tests and the control
files with PREEMPT_RT, and with lazy and full preemption, all under lockdep."""

from pathlib import Path

import kunit_run
import pytest
import vm
from conftest import TOP, Tap
from e2e import judge, load

MODELS = [
    pytest.param(
        flavour, f"preempt={model}", id=f"{flavour}-{model}", marks=pytest.mark.kernels(flavour)
    )
    for flavour in ("x86-debug", "x86-rt")
    for model in ("full", "lazy")
]
model = pytest.mark.parametrize("flavour, args", MODELS)


@model
def test_kunit(flavour: str, args: str, work: Path, subtests: pytest.Subtests) -> None:
    name = f"kunit-{flavour}-{args}"
    kunit_run.run(work / name, flavour, args=args, seconds=600).check(subtests)


@model
@pytest.mark.parametrize("name", load.LOADS)
def test_load(
    name: str, flavour: str, args: str, work: Path, decoder: Path, subtests: pytest.Subtests
) -> None:
    machine = vm.Machine(mem=2048, args=args)
    judge.prove(
        work / name, vm.kernel(flavour), load.LOADS[name], decoder, subtests,
        machine=machine, seconds=1200)  # fmt: skip


@model
def test_control(flavour: str, args: str, work: Path, tap: Tap) -> None:
    kernel, machine = vm.kernel(flavour), vm.Machine(mem=1536, args=args)
    script = TOP / "tests/guest/e2e/control.sh"
    result = vm.run(work, kernel, script, files=kernel.files(), machine=machine, seconds=1200)
    tap(result.lines())
    assert not result.problem, result.told()
