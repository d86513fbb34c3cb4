# SPDX-License-Identifier: GPL-2.0
"""Modules that share a component, and BLog, which is loaded before them and stays."""

from pathlib import Path

import pytest
import vm
from conftest import TOP, Tap, by_kernel


@pytest.mark.parametrize("flavour", by_kernel("x86", "stock"))
def test_stays(flavour: str, work: Path, tap: Tap) -> None:
    kernel, script = vm.kernel(flavour), TOP / "tests/guest/e2e/stays.sh"
    result = vm.run(work / flavour, kernel, script, files=kernel.files())
    tap(result.lines())
    assert not result.problem, result.told()
