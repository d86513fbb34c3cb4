# SPDX-License-Identifier: GPL-2.0
"""Shared by every suite: kernels, folder, TAP, and the last lines over all suites.

A suite is a file tests/suites/test_NAME.py. The runner reads its constants before it starts:

    SECONDS = 30          how long it takes, so that long ones start first
    TIER = "fast"         it is in the fast tier, too; "deep": only in the deep one

A test with the mark @pytest.mark.tier("deep") runs only in that tier. A test with the mark
@pytest.mark.kernels("x86", "uml") gets these kernels by vm.kernel(); those of all tests that run
are built before the first one starts. A suite may have either mark: pytestmark.

Results are tests and, within one test, subtests: a guest's TAP lines, say.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import vm

sys.dont_write_bytecode = True
TOP = vm.TOP
CACHE = vm.places()[2]
TIERS = ("fast", "full", "deep")
# Seconds that a test may take; a command that it runs may take less, so that its output is shown.
LIMIT, DEEP_LIMIT = 1800, 4 * 3600


# --- choice of suites -------------------------------------------------------------


def constant(suite: Path, name: str, default: str) -> str:
    """The value of a constant in a suite's file, which isn't imported."""
    found = re.search(rf"^{name} = \"?([^\"\n]*)", suite.read_text(), re.MULTILINE)
    return found[1] if found else default


def files(*patterns: str) -> list[str]:
    """The files in the work tree, by paths from its top, without links and what git ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    said = subprocess.run(command, cwd=TOP, check=True, capture_output=True, text=True).stdout
    paths = {name: TOP / name for name in said.splitlines()}
    return [name for name, path in paths.items() if path.is_file() and not path.is_symlink()]


def named(config: pytest.Config) -> list[Path]:
    """The files or folders to run."""
    return [Path(arg.split("::")[0]).absolute() for arg in config.args]


def in_tier(suite: Path, tier: str) -> bool:
    """Each tier contains the tiers before it."""
    return TIERS.index(constant(suite, "TIER", "full")) <= TIERS.index(tier)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        file, os.environ[NOTES] = tempfile.mkstemp(prefix="blog-")
        os.close(file)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.unlink(os.environ.pop(NOTES))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=TIERS, default="full")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out suites of another tier, unless they are named."""
    if collection_path in named(config):
        return None
    is_suite = collection_path.match("test_*.py")
    return True if is_suite and not in_tier(collection_path, config.option.tier) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long suites first. A suite's tests run in one process, in their order. Each has a limit."""
    tier = TIERS.index(config.option.tier)
    late = [
        item
        for item in items
        if (mark := item.get_closest_marker("tier")) and TIERS.index(mark.args[0]) > tier
    ]
    config.hook.pytest_deselected(items=late)
    items[:] = [item for item in items if item not in late]
    items.sort(key=lambda item: -int(constant(item.path, "SECONDS", "1")))
    for item in items:
        deep = "deep" in (config.option.tier, constant(item.path, "TIER", "full"))
        item.add_marker(pytest.mark.timeout(DEEP_LIMIT if deep else LIMIT))


# --- kernels ----------------------------------------------------------------------


def kernels_of(item: pytest.Item) -> set[str]:
    """The kernels that a test asks for."""
    return {flavour for mark in item.iter_markers("kernels") for flavour in mark.args}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds the kernels that the tests ask for, in the first process that has collected them. None
    starts a test before all have, so no build takes the CPUs of a guest."""
    config = session.config
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if config.option.collectonly or worker != "gw0":
        return
    wanted: set[str] = set().union(*map(kernels_of, session.items))
    for flavour in sorted(wanted):
        since = spent()
        # In such a process, standard output leads nowhere.
        command = [str(TOP / "scripts/build-kernel"), flavour]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, check=False)
        problem = "it could not be built: see above" if done.returncode else ""
        note(f"{KERNEL}{flavour}", since, problem)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """vm.kernel() refuses a kernel that this test does not ask for."""
    problems = {name.removeprefix(KERNEL): problem for name, *_, problem in noted()}
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
    """The tests that lines of TAP have, each with its problem, which lines before it explain. The
    plan, a line "1..N", shows that none is missing."""
    seen, plan = 0, None
    said: list[str] = []
    for line in lines:
        plan = int(line[3:]) if re.match(r"1\.\.\d+$", line) else plan
        found = re.match(r"(not )?ok - (.*)$", line)
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


def by_tier(**kernels: str) -> list[Any]:
    """Kernels as parameters of a test, by the tier from which on it runs with them."""
    return [
        pytest.param(name, marks=[pytest.mark.tier(tier), pytest.mark.kernels(name)])
        for tier, names in kernels.items()
        for name in names.split()
    ]


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
KERNEL = "kernel "


def spent() -> tuple[float, float]:
    """The time, and the CPUs' of processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), usage.ru_utime + usage.ru_stime


def note(name: str, since: tuple[float, float], problem: str = "") -> None:
    wall, cpu = (now - then for now, then in zip(spent(), since))
    with open(os.environ[NOTES], "a") as file:
        file.write(f"{name}\t{wall:.0f}\t{cpu:.0f}\t{os.getloadavg()[0]:.1f}\t{problem}\n")


def noted() -> list[list[str]]:
    return [line.split("\t") for line in Path(os.environ[NOTES]).read_text().splitlines()]


class Summary:
    """Names subtests in pytest's lists and in its JUnit XML, and ends the run with the stages and one
    line."""

    def __init__(self) -> None:
        self.since = spent()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if isinstance(report, pytest.SubtestReport):
            report.nodeid += f": {report.context.msg}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
        # Kernels are stages of their own: what they took isn't the suites'.
        wall, cpu = (sum(int(row[n]) for row in noted()) for n in (1, 2))
        note("suites", (self.since[0] + wall, self.since[1] + cpu))
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
    if not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        session.config.pluginmanager.register(Summary())
