# SPDX-License-Identifier: GPL-2.0
"""BLog in a kernel that watches itself (KASAN, lockdep, RCU and object debugging, see
scripts/config/debug-*.config), and with allocations that fail. Whatever the kernel
complains of fails the run. All is in slow motion there, so this is a selection; in the
deep tier it is all that there is."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import vm
from conftest import TOP, Tap
from e2e import judge, load

KERNELS = "x86-debug"
TESTS = 174
SECONDS = 300


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    deep = metafunc.config.option.tier == "deep"
    if "deep" in metafunc.fixturenames:
        metafunc.parametrize("deep", [deep], ids=[""])
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", load.LOADS if deep else ["lossy"])
    if "script" in metafunc.fixturenames:
        metafunc.parametrize("script", ["faults", "control"] if deep else ["faults"])


def test_kunit(tap: Tap) -> None:
    """With lazy preemption; the rest is fully preemptible."""
    command = [str(TOP / "scripts/kunit"), "-t", "600", "-a", "preempt=lazy", KERNELS]
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    tap(done.stdout.splitlines())
    assert done.returncode == 0


def test_load(name: str, deep: bool, work: Path, decoder: Path, subtests: pytest.Subtests) -> None:
    """Lossy: while three in ten of BLog's allocations fail, and its size changes."""
    what = replace(load.LOADS[name], ios=100_000 if deep else 10_000)
    if name == "lossy":
        what = replace(what, size_kb=128, ring_kb=32, faults=30)
    seconds = 3600 if deep else 600
    judge.prove(work / name, vm.kernel(KERNELS), what, decoder, subtests, seconds=seconds)


def test_guest(script: str, deep: bool, work: Path, tap: Tap) -> None:
    """Each allocation fails once, and then they fail at random; nothing is left behind."""
    machine = vm.Machine(cpus=2, mem=1536, args="page_owner=on")
    what = load.Load(script, ios=20_000, deep=int(deep))
    seconds = 3600 if deep else 600
    result = load.run(work / script, vm.kernel(KERNELS), what, machine=machine, seconds=seconds)
    tap(result.lines())
    assert not result.problem, result.told()
