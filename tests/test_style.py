# SPDX-License-Identifier: GPL-2.0
"""Formatting, checkpatch, shellcheck, clippy and the documentation: each step of scripts/check."""

import re
import subprocess

import pytest
from conftest import TOP

TESTS = 7
SECONDS = 90
TIER = "fast"


def test_check(subtests: pytest.Subtests) -> None:
    done = subprocess.run(
        [TOP / "scripts/check"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
    for good, bad in re.findall(
        r"^(?:  [+=] ([^:]+): |.*FAILED after [^:]*: ([^(]*) \(status)", done.stdout, re.MULTILINE
    ):
        with subtests.test(msg=good or bad):
            assert good, done.stdout
    for missing in re.findall(r"^check: (.* not checked)$", done.stdout, re.MULTILINE):
        with subtests.test(msg=missing):
            pytest.skip(missing)
    assert not done.returncode, done.stdout
