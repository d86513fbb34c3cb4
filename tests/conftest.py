# SPDX-License-Identifier: GPL-2.0
"""Shared by every suite: kernels, folder, TAP, and the summary over all suites.

A suite is a file tests/test_NAME.py. The runner reads its constants before it starts:

    KERNELS = "x86 uml"   flavours to build, if any
    TESTS = 20            number of results of a complete run; any other is a failure
    SECONDS = 30          how long it takes, so that long ones start first
    TIER = "fast"         it is in the fast tier, too; "deep": only in the deep one

A tier may have other values: KERNELS_FAST, TESTS_DEEP. A test with the mark
@pytest.mark.tier("deep") runs only in that tier.

Results are tests and, within one test, subtests: a guest's TAP lines, say.
"""

import fcntl
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
import vm

sys.dont_write_bytecode = True
TOP = vm.TOP
CACHE = vm.places()[2]
RESULTS = TOP / "build/test.xml"
TIERS = ("fast", "full", "deep")


# --- choice of suites -------------------------------------------------------------


def constant(suite: Path, name: str, default: str, tier: str = "") -> str:
    """The value of a constant in a suite's file, which isn't imported."""
    pattern = rf"^({name}[A-Z_]*) = \"?([^\"\n]*)"
    found: dict[str, str] = dict(re.findall(pattern, suite.read_text(), re.MULTILINE))
    return found.get(f"{name}_{tier.upper()}", found.get(name, default))


def files(*patterns: str) -> list[str]:
    """The files in the work tree, by paths from its top, without those that git ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    said = subprocess.run(command, cwd=TOP, check=True, capture_output=True, text=True).stdout
    return [name for name in said.splitlines() if (TOP / name).is_file()]


def named(config: pytest.Config) -> list[Path]:
    """The files or folders to run."""
    return [Path(arg.split("::")[0]).absolute() for arg in config.args]


def in_tier(suite: Path, tier: str) -> bool:
    """Each tier contains the tiers before it."""
    return TIERS.index(constant(suite, "TIER", "full")) <= TIERS.index(tier)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=TIERS, default="full")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out suites of another tier, unless they are named."""
    if collection_path in named(config):
        return None
    is_suite = collection_path.match("test_*.py")
    return True if is_suite and not in_tier(collection_path, config.option.tier) else None


def chosen(config: pytest.Config) -> list[Path]:
    """The files of the suites that run."""
    if any(path.is_dir() for path in named(config)):
        suites = sorted((TOP / "tests").glob("test_*.py"))
        return [path for path in suites if in_tier(path, config.option.tier)]
    return named(config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Builds the kernels before anything else, in the process that starts the others."""
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    wanted = (constant(path, "KERNELS", "", config.option.tier) for path in chosen(config))
    kernels = sorted(set(" ".join(wanted).split()))
    if kernels and subprocess.run([TOP / "scripts/build-kernel", *kernels]).returncode:
        pytest.exit("no kernels, no tests", returncode=1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long suites first. A suite's tests run in one process, in their order."""
    tier = TIERS.index(config.option.tier)
    late = [
        item
        for item in items
        if (mark := item.get_closest_marker("tier")) and TIERS.index(mark.args[0]) > tier
    ]
    config.hook.pytest_deselected(items=late)
    items[:] = [item for item in items if item not in late]
    items.sort(key=lambda item: -int(constant(item.path, "SECONDS", "1")))


@pytest.fixture(autouse=True)
def _alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """No other test runs beside a test with this mark."""
    with (CACHE / "tests.lock").open("w") as lock:
        alone = request.node.get_closest_marker("alone")
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


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


@pytest.fixture
def tap(subtests: pytest.Subtests) -> Tap:
    """Makes a subtest of each line of TAP; other lines explain a failure."""

    def report(lines: Iterable[str]) -> None:
        seen = 0
        said: list[str] = []
        for line in lines:
            found = re.match(r"(not )?ok - (.*)$", line)
            if not found:
                said.append(line)
                continue
            seen += 1
            bad, name = found.groups()
            with subtests.test(msg=name):
                assert not bad, "\n".join(said[-20:]) or name
            said.clear()
        assert seen, "no test in:\n" + "\n".join(said[-20:])

    return report


Run = Callable[..., str]


def run(*command: object, status: Sequence[int] = (0,), **options: object) -> str:
    """Runs a command; returns its output, or fails with the end of it."""
    done = subprocess.run(
        [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", **options)  # type: ignore[call-overload]  # fmt: skip
    tail = "\n".join(done.stdout.splitlines()[-60:])
    assert done.returncode in status, f"{command}: status {done.returncode}\n{tail}"
    return str(done.stdout)


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


# --- the summary ------------------------------------------------------------------


def printable(text: str) -> str:
    """The text without control characters, which XML can't have."""
    return re.sub("[^\t\n\x20-\ud7ff\ue000-\U0010ffff]", "?", text)


class Summary:
    """Counts results by suite, writes them as JUnit XML, and ends the run with one line."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.start = time.monotonic()
        self.counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.seconds: dict[str, float] = defaultdict(float)
        self.skipped: list[str] = []
        self.xml = ElementTree.Element("testsuite", name="BLog")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        suite = Path(report.nodeid.split("::")[0]).stem.removeprefix("test_")
        name = report.nodeid.partition("::")[2]
        if subtest := getattr(report, "context", None):
            name = f"{name}: {subtest.msg}"
        else:
            self.seconds[suite] += report.duration
        if report.when != "call" and report.passed:
            return
        self.counts[suite][report.outcome] += 1
        case = ElementTree.SubElement(
            self.xml, "testcase", classname=suite, name=name, time=f"{report.duration:.3f}"
        )
        if report.failed:
            ElementTree.SubElement(case, "failure").text = printable(report.longreprtext)
        if report.skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            ElementTree.SubElement(case, "skipped", message=printable(str(why)))
            self.skipped.append(f"{suite}: {name} -- {str(why).removeprefix('Skipped: ')}")

    def unplanned(self) -> Iterator[str]:
        """Suites that ran completely, but with another number of tests than they declare."""
        if self.config.option.keyword or any("::" in arg for arg in self.config.args):
            return
        for path in chosen(self.config):
            suite = path.stem.removeprefix("test_")
            plan = constant(path, "TESTS", "", self.config.option.tier)
            ran = sum(self.counts[suite].values())
            if plan and ran != int(plan):
                yield f"{suite} plans {plan} tests, but has {ran}: see TESTS in {path.name}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
        print("\n\nSuites")
        for suite, counts in sorted(self.counts.items()):
            numbers = ", ".join(f"{counts[what]} {what}" for what in OUTCOMES)
            print(f"  {suite:12} {numbers}  ({self.seconds[suite]:.1f} s)")
        for line in self.skipped:
            print(f"    SKIPPED: {line}")
        total = {what: sum(c[what] for c in self.counts.values()) for what in OUTCOMES}
        for failure in self.unplanned():
            print(f"    FAILED: {failure}")
            total["failed"] += 1
        RESULTS.parent.mkdir(exist_ok=True)
        ElementTree.ElementTree(self.xml).write(RESULTS, encoding="utf-8", xml_declaration=True)
        if total["failed"] and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"Total time: {time.monotonic() - self.start:.0f} s")
        print(", ".join(f"{total[what]} {what}" for what in OUTCOMES))


OUTCOMES = ("passed", "failed", "skipped")


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        session.config.pluginmanager.register(Summary(session.config))
