# SPDX-License-Identifier: GPL-2.0
"""The suites that are still bash: tests/suites/*. Each prints TAP."""

import os
import subprocess

import pytest
from conftest import TOP, Tap

KERNELS = "uml x86"
SECONDS = 1600

SUITES = sorted(
    path.name
    for path in (TOP / "tests/suites").iterdir()
    if os.access(path, os.X_OK) and path.is_file()
)


@pytest.mark.parametrize("suite", SUITES)
def test_suite(suite: str, tap: Tap) -> None:
    done = subprocess.run(
        [TOP / "tests/suites" / suite],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    tap(done.stdout.splitlines())
    assert done.returncode == 0
