# SPDX-License-Identifier: GPL-2.0
"""The control files of a running kernel: bad input, and what good input does."""

from pathlib import Path

import vm
from conftest import TOP, Tap

KERNELS = "x86"
TESTS = 152
SECONDS = 11


def test_control(work: Path, tap: Tap) -> None:
    kernel = vm.kernel("x86")
    result = vm.run(work, kernel, TOP / "tests/e2e/guest/control.sh", files=kernel.files())
    tap(result.lines())
    assert not result.problem, result.told()
