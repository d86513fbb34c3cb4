# SPDX-License-Identifier: GPL-2.0
"""Which tests run: the tiers of tests/tiers.toml, and the parts of a night, by tests/seconds.

As a program, it writes the times of the last run, in build/test.xml, into tests/seconds. It needs
only Python's standard library.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
TIERS = ("fast", "full", "deep")
# A test of so many seconds has a line of its own; others have one for their function, with the mean.
LONG = 60
# Functions that take less in all have no line.
SHORT = 5
KERNEL = "kernel "


@dataclass(frozen=True)
class Test:
    """One test: its suite, its name with parameters, and the kernels that it asks for."""

    suite: str
    name: str
    kernels: frozenset[str] = frozenset()

    @property
    def function(self) -> str:
        return self.name.partition("[")[0]


class Tiers:
    """The table tests/tiers.toml. Patterns with brackets in them are meant literally."""

    def __init__(self, text: str) -> None:
        table = tomllib.loads(text)
        self.fast: list[str] = table["fast"]
        self.fast_kernels, self.gate_kernels = (
            set(table["fast_kernels"]),
            set(table["gate_kernels"]),
        )
        self.kernels: dict[str, str] = table["kernels"]
        self.suites: dict[str, str] = table["suites"]
        self.tests: dict[str, str] = table["tests"]
        self.used: set[str] = set()

    def may_run(self, suite: str, tier: str) -> bool:
        """Whether a suite has tests in that tier, as far as its name says."""
        return tier == "deep" or suite not in self.suites and (tier == "full" or suite in self.fast)

    def of(self, test: Test, named: bool = False) -> tuple[str, str]:
        """A test's tier, and why, if it is of the night. A suite that is named runs in each tier,
        with the kernels that it needs if it is of the night as a whole."""
        name = f"{test.suite}::{test.name}".replace("[", "<").replace("]", ">")
        self.used |= test.kernels
        for pattern, reason in self.tests.items():
            if fnmatchcase(name, pattern.replace("[", "<").replace("]", ">")):
                self.used.add(pattern)
                return "deep", reason
        if test.suite in self.suites:
            self.used.add(test.suite)
            return ("full", "") if named else ("deep", self.suites[test.suite])
        for kernel in sorted(test.kernels - self.gate_kernels):
            return "deep", self.kernels[kernel]
        if (named or test.suite in self.fast) and test.kernels <= self.fast_kernels:
            return "fast", ""
        return "full", ""

    def unused(self) -> list[str]:
        """What the table has that no test is like."""
        return sorted({*self.tests, *self.suites, *self.kernels} - self.used)


class Seconds:
    """The table tests/seconds: how long tests take, and builds of kernels."""

    def __init__(self, text: str) -> None:
        lines = (line.split(maxsplit=1) for line in text.splitlines() if line[:1].isdigit())
        self.known = {name: float(seconds) for seconds, name in lines}

    def of(self, test: Test) -> float:
        own, all_of = f"{test.suite}::{test.name}", f"{test.suite}::{test.function}"
        return self.known.get(own, self.known.get(all_of, 0.1))

    def of_kernel(self, flavour: str) -> float:
        return self.known.get(f"{KERNEL}{flavour}", 400.0)

    def learn(self, found: dict[str, float], exists: Iterable[str]) -> str:
        """The table's lines with what was found, and without tests that are gone."""
        ran = {name.partition("[")[0] for name in found}
        old = {
            name: seconds
            for name, seconds in self.known.items()
            if name.partition("[")[0] in exists and (name not in ran or "[" in name)
        }
        return "".join(f"{s:g} {name}\n" for name, s in sorted({**old, **found}.items()))


def measured(xml: str) -> dict[str, float]:
    """The times that JUnit's XML has of tests, rounded, and of kernels."""
    root = ElementTree.fromstring(xml)
    found: dict[str, float] = {}
    others = defaultdict(list)
    for case in root.iter("testcase"):
        name = f"{case.attrib['classname'].rpartition('.test_')[2]}::{case.attrib['name']}"
        seconds = float(case.attrib["time"])
        if seconds >= LONG and "[" in name:
            found[name] = round(seconds)
        else:
            others[re.split(r"\[|: ", name)[0]].append(seconds)
    for function, times in others.items():
        # Subtests, whose time is their test's, are no tests of their own.
        if sum(times) >= SHORT:
            found[function] = round(sum(times) / sum(time > 0 for time in times), 1)
    for item in root.iter("property"):
        if item.attrib["name"].startswith(KERNEL):
            found[item.attrib["name"]] = float(item.attrib["value"])
    return found


@dataclass
class Part:
    """What one machine does in a night."""

    seconds: Seconds
    tests: list[Test] = field(default_factory=list)

    def wall(self, more: Sequence[Test] = ()) -> float:
        """Kernels are built one after another, by all CPUs; then two suites run at a time."""
        suites: dict[str, float] = defaultdict(float)
        kernels: set[str] = set()
        for test in (*self.tests, *more):
            suites[test.suite] += self.seconds.of(test)
            kernels |= test.kernels
        built = sum(map(self.seconds.of_kernel, kernels))
        return built + max(*suites.values(), sum(suites.values()) / 2, 0)


def share(tests: Iterable[Test], seconds: Seconds, count: int) -> list[Part]:
    """Shares tests out, so that the longest part is short, and few kernels are built twice. A suite
    stays in one part, unless it takes more than its share of all."""
    suites: dict[str, list[Test]] = defaultdict(list)
    for test in tests:
        suites[test.suite].append(test)
    fair = Part(seconds, [test for group in suites.values() for test in group]).wall() / count
    groups: list[list[Test]] = []
    for group in suites.values():
        alone = Part(seconds, group).wall() > fair
        groups += [[test] for test in group] if alone else [group]
    parts = [Part(seconds) for _ in range(count)]
    for group in sorted(groups, key=lambda group: -Part(seconds, group).wall()):
        min(parts, key=lambda part: 2 * part.wall(group) - part.wall()).tests += group
    return parts


TABLE = HERE / "tiers.toml"
TIMES = HERE / "seconds"


def main() -> int:
    """Learns from the last run."""
    head = "# Seconds of tests, and of builds of kernels: written by scripts/test --times\n"
    sources = {
        path.stem.removeprefix("test_"): path.read_text() for path in HERE.glob("suites/test_*.py")
    }
    exists = {
        f"{suite}::{name}" for suite, text in sources.items()
        for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)
    }  # fmt: skip
    kernels = {name for name in Seconds(TIMES.read_text()).known if name.startswith(KERNEL)}
    found = measured((HERE.parent / "build/test.xml").read_text())
    TIMES.write_text(head + Seconds(TIMES.read_text()).learn(found, exists | kernels))
    return 0


if __name__ == "__main__":
    sys.exit(main())
