# SPDX-License-Identifier: GPL-2.0
"""The decoder's parsers, fuzzed: all kept inputs, and new ones.

Each target gets four seconds; in the tier "deep", they share an hour.
"""

import re
from pathlib import Path

import fuzz
import pytest

SECONDS = 75


@pytest.fixture(scope="module")
def built() -> None:
    fuzz.build(fuzz.TARGETS)


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_target(work: Path, built: None, pytestconfig: pytest.Config, name: str) -> None:
    seconds = 3600 // len(fuzz.TARGETS) if pytestconfig.option.tier == "deep" else 4
    target = fuzz.Target(name, work / name)
    kept = len(list(target.kept.iterdir()))
    done = target.fuzz(seconds)

    def number(form: str) -> int:
        return int((re.findall(form, done.stdout, re.MULTILINE) or [0])[-1])

    said = [
        line[:300]
        for line in done.stdout.splitlines()
        if not re.match("#[0-9]|stat::|INFO: ", line)
    ]
    said += [
        f"see it again: tests/fuzz.py {name} --input {path}"
        for path in re.findall("Test unit written to (.*)", done.stdout)
    ]
    assert not done.returncode, "\n".join(said[-30:])
    # Some input always runs; with all kept ones, one line says so.
    assert number(r"^#(\d+)\tINITED ") >= kept > 0
    assert number(r"^stat::number_of_executed_units: *(\d+)") > kept
    assert number(r" cov: (\d+) ") > 100
