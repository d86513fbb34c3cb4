# SPDX-License-Identifier: GPL-2.0
"""From fio to the decoder: the log equals the I/Os, and missing records are counted; also while
rings are too small, and while the driver is unloaded and loaded again."""

from pathlib import Path

import pytest
import vm
from conftest import by_kernel
from e2e import judge
from e2e.load import LOADS, Load


@pytest.mark.kernels("x86")
@pytest.mark.parametrize("name", LOADS)
def test_load(name: str, work: Path, decoder: Path, subtests: pytest.Subtests) -> None:
    judge.prove(work / name, vm.kernel("x86"), LOADS[name], decoder, subtests)


@pytest.mark.parametrize("flavour", by_kernel("arm64", "riscv64"))
def test_other(flavour: str, work: Path, decoder: Path, subtests: pytest.Subtests) -> None:
    """The same on another architecture, whose CPUs run in parallel."""
    what = Load(size_kb=65536, ring_kb=16384, whole=True)
    judge.prove(work / flavour, vm.kernel(flavour), what, decoder, subtests)


@pytest.mark.kernels("stock")
@pytest.mark.parametrize("name", LOADS)
def test_stock(name: str, work: Path, decoder: Path, subtests: pytest.Subtests) -> None:
    """The same with Debian's own kernel."""
    judge.prove(work / f"stock-{name}", vm.kernel("stock"), LOADS[name], decoder, subtests)
