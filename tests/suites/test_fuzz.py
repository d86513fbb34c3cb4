# SPDX-License-Identifier: GPL-2.0
"""The decoder's parsers, fuzzed at night: all kept inputs, and new ones for an hour."""

import re
from pathlib import Path

import fuzz
import pytest


@pytest.fixture(scope="module")
def built() -> None:
    fuzz.build()


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_kept(work: Path, built: None, name: str) -> None:
    """Those of the corpus, and those that the target builds itself."""
    take(fuzz.Target(name, work / name), seconds=0)


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_new(work: Path, built: None, name: str) -> None:
    """The targets share an hour."""
    target = fuzz.Target(name, work / f"new-{name}")
    more = take(target, seconds=3600 // len(fuzz.TARGETS))
    assert more > len(list(target.kept.iterdir()))


def take(target: fuzz.Target, seconds: int) -> int:
    """How many inputs the target has run, all that are kept among them."""
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
        f"see it again: tests/fuzz.py {target.name} --input {path}"
        for path in re.findall("Test unit written to (.*)", done.stdout)
    ]
    assert not done.returncode, "\n".join(said[-30:])
    # Some input always runs; with all kept ones, one line says so.
    assert number(r"^#(\d+)\tINITED ") >= kept > 0
    assert number(r" cov: (\d+) ") > 100
    return number(r"^stat::number_of_executed_units: *(\d+)")
