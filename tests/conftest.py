# SPDX-License-Identifier: GPL-2.0
"""Shared by every suite: choice of tests, kernels, folder, TAP, and what a run prints.

A suite is a file tests/suites/test_NAME.py. tests/tiers.toml says which tests run when. A test with
the mark @pytest.mark.kernels("x86", "uml") gets these kernels by vm.kernel(); those of all tests
that run are built before the first one starts. A suite may have the mark: pytestmark.

Results are tests and, within one test, subtests: a guest's TAP lines, say.
"""

import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import plan
import pytest
import vm
from _pytest.junitxml import xml_key

sys.dont_write_bytecode = True
TOP = vm.TOP
CACHE = vm.places()[2]
TIERS, SECONDS = plan.Tiers(plan.TABLE.read_text()), plan.Seconds(plan.TIMES.read_text())
# Seconds that a test may take; a command that it runs may take less, so that its output is shown.
LIMIT, DEEP_LIMIT = 1800, 4 * 3600


# --- choice of suites -------------------------------------------------------------


def files(*patterns: str) -> list[str]:
    """The files in the work tree, by paths from its top, without links and what git ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    said = subprocess.run(command, cwd=TOP, check=True, capture_output=True, text=True).stdout
    paths = {name: TOP / name for name in said.splitlines()}
    return [name for name, path in paths.items() if path.is_file() and not path.is_symlink()]


def named(config: pytest.Config) -> list[Path]:
    """The files or folders to run."""
    return [Path(arg.split("::")[0]).absolute() for arg in config.args]


def suite_of(path: Path) -> str:
    return path.stem.removeprefix("test_")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        file, os.environ[NOTES] = tempfile.mkstemp(prefix="blog-")
        os.close(file)
        if config.option.shuffle == 0:
            config.option.shuffle = random.randrange(1, 10**6)
            print(f"random order: scripts/test -r {config.option.shuffle}")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.unlink(os.environ.pop(NOTES))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=plan.TIERS, default="full")
    parser.addoption("--part", metavar="N/M", default="1/1", help="the Nth of M parts of the tests")
    parser.addoption("--shuffle", metavar="SEED", type=int, help="a suite's tests in random order")
    parser.addoption("--list", action="store_true", help="only print the tests, and why at night")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out suites of another tier, unless they are named."""
    if collection_path in named(config) or not collection_path.match("test_*.py"):
        return None
    return None if TIERS.may_run(suite_of(collection_path), config.option.tier) else True


def planned(item: pytest.Item) -> plan.Test:
    return plan.Test(suite_of(item.path), item.name, frozenset(kernels_of(item)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests of the tier and of the part: first suites that need no kernel, and of these the
    longest. A suite's tests run in one process, in their order. Each has a limit."""
    most, paths = plan.TIERS.index(config.option.tier), named(config)
    tests = {item: planned(item) for item in items}
    tiers = {item: TIERS.of(test, item.path in paths) for item, test in tests.items()}
    everything = not any(path.is_file() for path in paths) and config.option.tier == "deep"
    if config.option.list and everything and (unused := TIERS.unused()):
        raise pytest.UsageError(f"tests/tiers.toml names what is no test: {', '.join(unused)}")
    chosen = [item for item in items if plan.TIERS.index(tiers[item][0]) <= most]
    number, count = map(int, config.option.part.split("/"))
    part = plan.share([tests[item] for item in chosen], SECONDS, count)[number - 1]
    of_part = set(part.tests)
    chosen = [item for item in chosen if tests[item] in of_part]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    took: Counter[Path] = Counter()
    for item in chosen:
        took[item.path] += round(1000 * SECONDS.of(tests[item]))
    late = {item.path for item in chosen if tests[item].kernels}
    if seed := config.option.shuffle:
        random.Random(seed).shuffle(chosen)
    items[:] = sorted(chosen, key=lambda item: (item.path in late, -took[item.path], item.path))
    for item in items:
        deep = "deep" in (config.option.tier, tiers[item][0])
        item.add_marker(pytest.mark.timeout(DEEP_LIMIT if deep else LIMIT))
    if config.option.list:
        for item in items:
            test, (tier, reason) = tests[item], tiers[item]
            print(f"{tier} {SECONDS.of(test):6.1f} s  {test.suite}::{test.name}  {reason}".rstrip())
        print(
            f"{len(items)} tests, {part.wall() / 60:.0f} minutes with kernels, two suites at a time"
        )
        items.clear()


# --- kernels ----------------------------------------------------------------------


def kernels_of(item: pytest.Item) -> set[str]:
    """The kernels that a test asks for."""
    return {flavour for mark in item.iter_markers("kernels") for flavour in mark.args}


wanted: set[str] = set()  # by the tests that run
builds: list[subprocess.Popen[bytes]] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds the kernels that the tests ask for, in the first process that has collected them. Tests
    that need none run meanwhile, and come first."""
    config = session.config
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if config.option.collectonly:
        return
    wanted.update(*map(kernels_of, session.items))
    if worker == "gw0":
        threading.Thread(target=build, args=[sorted(wanted)], daemon=True).start()


def build(flavours: Iterable[str]) -> None:
    for flavour in flavours:
        began = time.monotonic()
        # In such a process, standard output leads nowhere.
        command = [str(TOP / "scripts/build-kernel"), flavour]
        builds.append(
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, start_new_session=True)
        )
        _, status, usage = os.wait4(builds[-1].pid, 0)
        builds[-1].returncode = status
        problem = "it could not be built: see above" if status else ""
        cpu = usage.ru_utime + usage.ru_stime
        note(f"{plan.KERNEL}{flavour}", time.monotonic() - began, cpu, problem)


def pytest_sessionfinish() -> None:
    """No build outlives a run that has ended early."""
    if builds and builds[-1].returncode is None:
        os.killpg(builds[-1].pid, signal.SIGTERM)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Waits for all kernels, as no build may take the CPUs of a guest. vm.kernel() refuses a kernel
    that this test does not ask for."""
    problems: dict[str, str] = {}
    while kernels_of(item) and not problems.keys() >= wanted:
        problems = {name.removeprefix(plan.KERNEL): problem for name, *_, problem in noted()}
        time.sleep(0.2)
    vm.asked = {flavour: problems[flavour] for flavour in kernels_of(item)}
    vm.patience = 0.8 * item.get_closest_marker("timeout").args[0]  # type: ignore[union-attr]


# --- fixtures ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def work(request: pytest.FixtureRequest) -> Path:
    """An empty folder for the suite's files; it stays until the suite runs again."""
    path = CACHE / "test" / request.path.stem.removeprefix("test_")
    subprocess.run(["rm", "-rf", path], check=True)
    path.mkdir(parents=True)
    return path


@pytest.fixture(scope="session")
def decoder() -> Path:
    """blog-decode, built."""
    subprocess.run([TOP / "scripts/build-decode"], check=True, stdout=subprocess.DEVNULL)
    return TOP / "target/release/blog-decode"


Tap = Callable[[Iterable[str]], None]


def results(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The tests that lines of TAP or KTAP have, each with its problem, which lines before it explain.
    The plan, a line "1..N", shows that none is missing."""
    seen, plan = 0, None
    said: list[str] = []
    for line in lines:
        plan = int(line[3:]) if re.match(r"1\.\.\d+$", line) else plan
        found = re.match(r"(not )?ok(?: \d+)?(?: -)? (.*?) *$", line)
        if not found:
            said.append(line)
            continue
        seen += 1
        bad, name = found.groups()
        yield name, ("\n".join(said[-20:]) or name) if bad else ""
        said.clear()
    assert seen == plan, f"{seen} tests, planned are {plan}:\n" + "\n".join(said[-20:])


@pytest.fixture
def tap(subtests: pytest.Subtests) -> Tap:
    """Makes a subtest of each test of TAP."""

    def report(lines: Iterable[str]) -> None:
        for name, problem in results(lines):
            with subtests.test(msg=name):
                if name.endswith("# SKIP"):
                    pytest.skip(name)
                assert not problem, problem

    return report


def masked(text: str) -> str:
    """What the kernel prints, without addresses: those are hashes there."""
    return re.sub(r"\b(0x)?[0-9a-f]{16}\b|\(____ptrval____\)", "ADDRESS", text).strip()


Run = Callable[..., str]


def run(*command: object, status: Sequence[int] = (0,), **options: object) -> str:
    """Runs a command; returns its output, or fails with the end of it."""
    words, seconds = [str(word) for word in command], vm.patience
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True, **options) as child:  # type: ignore[call-overload]  # fmt: skip
        try:
            said, problem = child.communicate(timeout=seconds)[0], ""
        except BaseException as error:
            # With all that it has started
            os.killpg(child.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            said, problem = child.communicate()[0], f"no end in {seconds:.0f} s"
    if not problem and child.returncode not in status:
        problem = f"status {child.returncode}"
    assert not problem, f"{command}: {problem}\n" + "\n".join(said.splitlines()[-60:])
    return str(said)


def offline() -> list[str]:
    """What starts a command without a network; nothing where that isn't allowed.

    It takes CAP_SYS_ADMIN, which containers don't have by default, or a user namespace, which
    a chroot doesn't get.
    """
    for command in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        tried = subprocess.run([*command, "true"], capture_output=True, check=False)
        if not tried.returncode:
            return command
    return []


@pytest.fixture(scope="session")
def sh() -> Run:
    return run


def for_guest(program: Path, stripped: Path) -> dict[str, Path]:
    """A program without its symbols, for a guest's initrd, and what it is linked with: the loader
    first of all."""
    run("strip", "-o", stripped, program)
    libraries = re.findall(r"/\S+", run("ldd", program))
    return {path.lstrip("/"): Path(path) for path in libraries} | {f"bin/{program.name}": stripped}


def by_kernel(*names: str) -> list[Any]:
    """Kernels as parameters of a test: tests/tiers.toml says which ones are built for the gate."""
    return [pytest.param(name, marks=pytest.mark.kernels(name)) for name in names]


def built(program: str) -> Path:
    """A program for tests. The crates are those of "cargo test --workspace": with other features,
    cargo would compile them once more."""
    run("cargo", "build", "--quiet", "--offline", "--locked", "--workspace",
        "--example", "biglog", "--example", "mapcopy", "--bin", "blog-torture-verify",
        cwd=TOP)  # fmt: skip
    return TOP / "target/debug" / program


def biglog(what: str, count: int, of: int, folder: Path) -> Path:
    """The folder with a "log" of RECORDS and RINGS, or a "fleet" of SNAPSHOTS and HOSTS."""
    run(built("examples/biglog"), what, count, of, folder)
    return folder


# --- the summary ------------------------------------------------------------------

# By this variable, all processes of a run share a file with a line for each stage: its name, its
# seconds, those of CPUs, the load at its end, and what went wrong.
NOTES = "BLOG_TEST_NOTES"


def spent() -> tuple[float, float]:
    """The time, and the CPUs' of processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), usage.ru_utime + usage.ru_stime


def note(name: str, wall: float, cpu: float, problem: str = "") -> None:
    with open(os.environ[NOTES], "a") as file:
        file.write(f"{name}\t{wall:.0f}\t{cpu:.0f}\t{os.getloadavg()[0]:.1f}\t{problem}\n")


def noted() -> list[list[str]]:
    return [line.split("\t") for line in Path(os.environ[NOTES]).read_text().splitlines()]


class Summary:
    """Prints a line for each suite that has ended, and each failure at once; names subtests in
    pytest's lists and in its JUnit XML; and ends the run with the stages and one line."""

    def __init__(self) -> None:
        self.since = spent()
        self.left: Counter[str] = Counter()  # tests of each suite
        self.took: Counter[str] = Counter()
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)

    def expect(self, ids: Iterable[str]) -> None:
        if not self.left:
            self.left.update(suite_of(Path(name.split("::")[0])) for name in ids)

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.expect(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.expect(item.nodeid for item in session.items)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self,
    ) -> Generator[None, tuple[str, str, str], tuple[str, str, str]]:
        """No letters."""
        category, _, word = yield
        return category, "", word

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path, _, name = report.nodeid.partition("::")
        suite = suite_of(Path(path))
        if isinstance(report, pytest.SubtestReport):
            report.nodeid += f": {report.context.msg}"
            name += f": {report.context.msg}"
            report.duration = 0.0  # it is part of the test's
        self.took[suite] += round(1000 * report.duration)
        if report.failed or report.when == "call" or report.skipped:
            self.counts[suite][report.outcome] += 1
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message if crash else str(report.longrepr)
            print(f"FAILED {suite}::{name}: {why.strip().splitlines()[0]}", flush=True)
        if report.when == "teardown":
            self.left[suite] -= 1
            if not self.left[suite]:
                said = ", ".join(f"{n} {what}" for what, n in sorted(self.counts[suite].items()))
                print(f"{suite:<12} {self.took[suite] / 1000:6.1f} s  {said}", flush=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        kernels = noted()
        if xml := session.config.stash.get(xml_key, None):
            for name, seconds, *_ in kernels:
                xml.add_global_property(name, seconds)
        yield
        # Both go on at a time. What kernels took of CPUs isn't the suites'.
        wall, cpu = (now - then for now, then in zip(spent(), self.since))
        note("suites", wall, cpu - sum(int(row[2]) for row in kernels))
        set_up = CACHE / "logs/stages"  # by first_stage() of scripts/lib/lib.sh
        first = (
            [line.split("\t") for line in set_up.read_text().splitlines()]
            if set_up.exists()
            else []
        )
        set_up.unlink(missing_ok=True)
        for name, *numbers in [["stage", "s", "CPU s", "load"], *first, *noted()]:
            print(f"{name:<20}" + "".join(f"{number:>8}" for number in numbers[:3]))
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        assert reporter
        outcomes = {
            "passed": ("passed", "subtests passed"),
            "failed": ("failed", "error"),
            "skipped": ("skipped",),
        }
        counts = {
            name: sum(len(reporter.stats.get(kind, ())) for kind in kinds)
            for name, kinds in outcomes.items()
        }
        print(", ".join(f"{count} {name}" for name, count in counts.items()))


def pytest_sessionstart(session: pytest.Session) -> None:
    option = session.config.option
    if not (hasattr(session.config, "workerinput") or option.collectonly or option.list):
        session.config.pluginmanager.register(Summary())
