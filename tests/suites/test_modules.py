# SPDX-License-Identifier: GPL-2.0
"""Modules that share a component: BLog can't be unloaded while the module that defines it is
loaded, even if that module has no log call."""

from pathlib import Path

import pytest
import vm
from conftest import TOP, Tap, by_tier

SECONDS = 25


@pytest.mark.parametrize("flavour", by_tier(full="x86 stock"))
def test_owner(flavour: str, work: Path, tap: Tap) -> None:
    kernel, script = vm.kernel(flavour), TOP / "tests/guest/e2e/owner.sh"
    result = vm.run(work / flavour, kernel, script, files=kernel.files())
    tap(result.lines())
    assert not result.problem, result.told()
