# SPDX-License-Identifier: GPL-2.0
"""From fio to the decoder: the log equals the I/Os, and missing records are counted; also while
rings are too small, and while the driver is unloaded and loaded again."""

from pathlib import Path

import pytest
import vm
from e2e import judge
from e2e.load import LOADS, Load

KERNELS = "x86 stock arm64"
SECONDS = 200


@pytest.mark.parametrize("name", LOADS)
def test_load(name: str, work: Path, decoder: Path, subtests: pytest.Subtests) -> None:
    judge.prove(work / name, vm.kernel("x86"), LOADS[name], decoder, subtests)


def test_arm64(work: Path, decoder: Path, subtests: pytest.Subtests) -> None:
    """The same on another architecture, whose CPUs run in parallel."""
    what = Load(ios=50_000, size_kb=65536, ring_kb=16384, whole=True)
    judge.prove(work / "arm64", vm.kernel("arm64"), what, decoder, subtests)


@pytest.mark.parametrize("name", ["lossy", "reload"])
def test_stock(name: str, work: Path, decoder: Path, subtests: pytest.Subtests) -> None:
    """The same with Debian's own kernel."""
    judge.prove(work / f"stock-{name}", vm.kernel("stock"), LOADS[name], decoder, subtests)
