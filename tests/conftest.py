# SPDX-License-Identifier: GPL-2.0
"""Shared by every suite: kernels, folder, TAP, and the last line over all suites.

A suite is a file tests/suites/test_NAME.py. The runner reads its constants before it starts:

    KERNELS = "x86 uml"   flavours to build, if any
    SECONDS = 30          how long it takes, so that long ones start first
    TIER = "fast"         it is in the fast tier, too; "deep": only in the deep one

A tier may have other values: KERNELS_FAST. A test with the mark @pytest.mark.tier("deep") runs
only in that tier.

Results are tests and, within one test, subtests: a guest's TAP lines, say.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import vm

sys.dont_write_bytecode = True
TOP = vm.TOP
CACHE = vm.places()[2]
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
        suites = sorted((TOP / "tests/suites").glob("test_*.py"))
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
    """Makes a subtest of each line of TAP; other lines explain a failure. The plan, a line
    "1..N", shows that none is missing."""

    def report(lines: Iterable[str]) -> None:
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
            with subtests.test(msg=name):
                assert not bad, "\n".join(said[-20:]) or name
            said.clear()
        assert seen == plan, f"{seen} tests, planned are {plan}:\n" + "\n".join(said[-20:])

    return report


def masked(text: str) -> str:
    """What the kernel prints, without addresses: those are hashes there."""
    return re.sub(r"\b(0x)?[0-9a-f]{16}\b|\(____ptrval____\)", "ADDRESS", text).strip()


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


def for_guest(program: Path, stripped: Path) -> dict[str, Path]:
    """A program without its symbols, for a guest's initrd, and what it is linked with: the loader
    first of all."""
    run("strip", "-o", stripped, program)
    libraries = re.findall(r"/\S+", run("ldd", program))
    return {path.lstrip("/"): Path(path) for path in libraries} | {f"bin/{program.name}": stripped}


def by_tier(**kernels: str) -> list[Any]:
    """Parameters of a test, by the first tier that names them: each runs only from there on."""
    tiers = {name: tier for tier in reversed(kernels) for name in kernels[tier].split()}
    return [
        pytest.param(name, marks=pytest.mark.tier(tiers[name]))
        for name in dict.fromkeys(" ".join(kernels.values()).split())
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


class Summary:
    """Names subtests in pytest's lists and in its JUnit XML, and ends the run with one line."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if isinstance(report, pytest.SubtestReport):
            report.nodeid += f": {report.context.msg}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
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
