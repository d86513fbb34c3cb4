# SPDX-License-Identifier: GPL-2.0
"""Runs BLog's KUnit suites in a guest, and reads their output with the kernel's parser."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import vm

HERE = Path(__file__).resolve().parent


def cases() -> list[str]:
    """The cases in the sources, as SUITE.CASE."""
    blog = HERE.parent / "blog"
    paths = sorted(
        path
        for glob in ("tests/**/*.rs", "parts/*/tests.rs", "parts/*/tests/*.rs")
        for path in blog.glob(glob)
    )
    return [case for path in paths for case in cases_of(path)]


def cases_of(path: Path) -> list[str]:
    """Those in one of the sources."""
    text = path.read_text()
    suite = re.search(r"#\[kunit_tests\((\w+)\)\]", text)
    names = re.findall(r"#\[test\](?:\s+#\[cfg[^\n]*)?\s+fn (\w+)", text)
    return [f"{suite[1]}.{name}" for name in names] if suite else []


def parse(log: str) -> dict[str, Any]:
    """The results of the kernel's own parser for a log: its Test of each suite, by name."""
    source = Path(os.environ.get("KSRC") or vm.fetch("kernel"))
    tools = str(source / "tools/testing/kunit")
    if tools not in sys.path:
        sys.path.append(tools)
    parser: Any = importlib.import_module("kunit_parser")
    printer: Any = importlib.import_module("kunit_printer").null_printer
    log = re.sub(r"^\[[^]]*\] ", "", log, flags=re.MULTILINE)
    # Built-in suites and each module have separate reports.
    reports = re.split(r"^(?=KTAP version)", log, flags=re.MULTILINE)[1:]
    parsed = [parser.parse_run_tests(report.splitlines(), printer) for report in reports]
    return {suite.name: suite for report in parsed for suite in report.subtests}


@dataclass
class Ran:
    """How the suites went in one guest."""

    kernel: vm.Kernel
    result: vm.Result
    log: str
    suites: dict[str, Any]
    known: Sequence[str] = field(default_factory=cases)

    def case(self, name: str) -> str:
        """The problem of a case; nothing, if it passed."""
        suite, _, case = name.partition(".")
        if suite == "blog_capture" and self.kernel.flavour == "stock-kunit":
            # Without patches, messages of drivers in Rust are not captured.
            return "it ran" if suite in self.suites else ""
        if suite not in self.suites:
            return f"the suite did not run\n{self.result.told()}"
        for test in self.suites[suite].subtests:
            if test.name == case:
                good = test.status.name == "SUCCESS"
                return "" if good else "\n".join([test.status.name, *test.log])
        return "the case did not run"

    def rest(self) -> Iterator[str]:
        """Other problems."""
        if self.result.problem:
            yield self.result.told()
        known = set(self.known)
        for name, suite in self.suites.items():
            planned, ran = suite.expected_count, len(suite.subtests)
            if suite.status.name != "SUCCESS" or suite.counts.errors or planned != ran:
                yield f"{name}: {suite.status.name}, {ran} of {planned} cases, {suite.counts}"
            # The kernel has suites, too: they have no other word than this.
            if name.startswith("blog"):
                more = {f"{name}.{test.name}" for test in suite.subtests} - known
                yield from (f"{case} is not in the sources" for case in sorted(more))
        # Where all suites are built in, one logs as early as it can.
        early, built = "blog_kunit: logged in an early parameter", ("BLOG_KUNIT_TEST", "BLOG_PARTS")
        if all(self.kernel.option(name) == "y" for name in built) and early not in self.log:
            yield "no call in an early parameter"

    def check(self, subtests: pytest.Subtests) -> None:
        """Makes a subtest of each case, and one of the rest."""
        for name in self.known:
            with subtests.test(msg=name):
                assert not (wrong := self.case(name)), wrong
        with subtests.test(msg="the rest"):
            assert not (more := list(self.rest())), "\n".join(more)


def run(work: Path, flavour: str, *, glob: str = "", args: str = "", seconds: float = 180) -> Ran:
    """Boots a kernel that runs all suites, or those cases that a glob of KUnit's names."""
    kernel = vm.kernel(flavour)
    args = f"kunit.enable=1 kunit.autorun=1 blog_kunit_early blog.counts=1 log_buf_len=4M {args}"
    if glob:
        args += f" kunit.filter_glob={glob}"
    result = vm.run(
        work, kernel, HERE / "guest/kunit.sh", files=kernel.files(),
        machine=vm.Machine(args=args), seconds=seconds)  # fmt: skip
    # Without the log, told() says why.
    log = result.out / "dmesg"
    text = log.read_text(errors="replace") if log.exists() else result.guest.text()
    return Ran(kernel, result, text, parse(text))


# Suites wait more than they work. Guests share them, by the last letters of their names.
SHARES = ("*[a-l]", "*[m-s]", "*[!a-s]")


def run_shared(work: Path, flavour: str) -> Ran:
    """Runs all suites, in some guests at a time."""
    with ThreadPoolExecutor(len(SHARES)) as pool:
        ran = list(
            pool.map(lambda n: run(work / str(n), flavour, glob=SHARES[n]), range(len(SHARES)))
        )
    worst = max(ran, key=lambda one: bool(one.result.problem))
    suites = {name: suite for one in ran for name, suite in one.suites.items()}
    assert len(suites) == sum(len(one.suites) for one in ran), "a suite ran in two guests"
    return Ran(worst.kernel, worst.result, "\n".join(one.log for one in ran), suites)
