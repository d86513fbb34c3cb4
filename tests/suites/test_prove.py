# SPDX-License-Identifier: GPL-2.0
"""The slow proofs over ring and pool, on the host.

ThreadSanitizer and AddressSanitizer report nothing in the host tests, standard library included,
after each has reported a planted bug. For each ordering of tests/host/mutants, the loom model
fails when the ordering is weakened. For each mistake of tests/host/named, a test of the host fails.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import CACHE, TOP, Run, files

HOST = TOP / "tests/host"


# --- sanitizers -----------------------------------------------------------------------

# The one race by design: "Data race by design" in ring.rs.
SUPPRESSIONS = "race:*ring*PageHeader*copy*\n"


@pytest.fixture(scope="module")
def rustc(sh: Run) -> Path:
    """A compiler that finds the standard library's sources: it is left alone, and sees them
    through a sysroot of links."""
    real = Path(sh("rustc", "--print", "sysroot").strip())
    folder = CACHE / "sanitize"
    own = folder / "sysroot/lib"
    shutil.rmtree(own, ignore_errors=True)
    (own / "rustlib/src/rust").mkdir(parents=True)
    for library in (real / "lib").glob("*.so"):
        (own / library.name).symlink_to(library)
    for target in (real / "lib/rustlib").glob("*-*"):
        (own / "rustlib" / target.name).symlink_to(target)
    (own / "rustlib/src/rust/library").symlink_to(os.environ["RUST_LIB_SRC"])
    (folder / "suppressions").write_text(SUPPRESSIONS)
    wrapper = folder / "rustc"
    wrapper.write_text(f'#!/bin/sh\nexec {real}/bin/rustc --sysroot {own.parent} "$@"\n')
    wrapper.chmod(0o755)
    return wrapper


def sanitized(
    rustc: Path, sanitizer: str, *args: str, options: str = ""
) -> subprocess.CompletedProcess[str]:
    """The host tests under a sanitizer. Its report's frames, and the suppression, need names."""
    symbolizer = f"external_symbolizer_path={shutil.which('llvm-symbolizer')}"
    env = os.environ | {
        "RUSTC_BOOTSTRAP": "1", "RUSTC": str(rustc), "RUSTFLAGS": f"-Zsanitizer={sanitizer}",
        "PROPTEST_CASES": "32", "TSAN_OPTIONS": f"{symbolizer} {options}",
        "ASAN_OPTIONS": symbolizer}  # fmt: skip
    return subprocess.run(
        ["cargo", "test", "--quiet", "--locked", "--offline", "-Zbuild-std",
         "--target", "x86_64-unknown-linux-gnu", "--target-dir", rustc.parent / sanitizer,
         "-p", "blog-host-tests", "--lib", "--", *args],
        cwd=HOST, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=False)  # fmt: skip


@pytest.mark.parametrize(
    ("sanitizer", "test", "report"),
    [
        ("thread", "planted_race", "ThreadSanitizer: data race"),
        ("address", "planted_overrun", "AddressSanitizer: heap-buffer-overflow"),
    ],
)
def test_a_planted_bug_is_reported(rustc: Path, sanitizer: str, test: str, report: str) -> None:
    done = sanitized(rustc, sanitizer, "--ignored", "--exact", f"control::{test}")
    assert done.returncode and report in done.stdout, done.stdout


def test_address_sanitizer_reports_nothing(rustc: Path) -> None:
    done = sanitized(rustc, "address")
    assert not done.returncode, done.stdout


def test_thread_sanitizer_reports_nothing_but_the_race_by_design(rustc: Path) -> None:
    # What is skipped is one thread, and many reads: slow here.
    options = f"suppressions={rustc.parent}/suppressions"
    done = sanitized(rustc, "thread", "--skip", "overwrite_keeps", options=options)
    assert not done.returncode, done.stdout


def test_thread_sanitizer_reports_nothing_where_no_reader_meets_a_writer(rustc: Path) -> None:
    words = ("copies_of_pages_that_stay", "pool_tests", "--skip", "readers_see_whole_records")
    done = sanitized(rustc, "thread", *words)
    assert not done.returncode, done.stdout


# --- weakened orderings -----------------------------------------------------------------


@dataclass
class Mutant:
    name: str
    files: str
    model: str
    edit: str

    def paths(self) -> list[str]:
        if self.files == "ring":
            return [
                str(path.relative_to(TOP)) for path in (TOP / "rust/kernel/blog/ring").glob("*.rs")
            ]
        return [f"blog/memory/pool/{file}.rs" for file in self.files.split("+")]


MUTANTS = {
    line.split()[0]: Mutant(*line.split(None, 3))
    for line in (HOST / "mutants").read_text().splitlines()
    if not line.startswith("#")
}
# What the models are compiled of
SOURCES = ("rust/kernel/blog/wire", "rust/kernel/blog/ring", "blog/memory/pool", "blog/tests/rig",
           "tests/host/src", "tests/host/loom/src")  # fmt: skip


@dataclass
class Models:
    """Sources of the models, and the crates that they are compiled with."""

    base: Path
    crates: dict[str, str]

    def compile(self, folder: Path) -> subprocess.CompletedProcess[str]:
        externs = [f"--extern={name}={path}" for name, path in self.crates.items()]
        return subprocess.run(
            ["rustc", "--edition", "2021", "--test", "-C", "opt-level=1", "-A", "warnings",
             folder / "tests/host/loom/src/lib.rs", "-o", folder / "models",
             "-L", f"dependency={Path(self.crates['loom']).parent}", *externs],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip

    def try_one(self, mutant: Mutant | None) -> str:
        """Compiles and runs a model that is weakened, or all as they are; what is wrong."""
        folder = self.base.with_name(mutant.name if mutant else "none")
        shutil.copytree(self.base, folder)
        try:
            if mutant:
                texts = {path: (folder / path).read_text() for path in mutant.paths()}
                subprocess.run(["sed", "-i", "-e", mutant.edit, *texts], cwd=folder, check=True)
                if all((folder / path).read_text() == text for path, text in texts.items()):
                    return "the edit changes nothing"
            if (built := self.compile(folder)).returncode:
                return f"it does not compile:\n{built.stdout[-2000:]}"
            words = [mutant.model] if mutant else ["--test-threads=1"]
            env = os.environ if mutant else os.environ | {"LOOM_MAX_PREEMPTIONS": "2"}
            ran = subprocess.run(
                [folder / "models", *words], env=env, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                timeout=120 if mutant else 1800)  # fmt: skip
            if ran.returncode != (101 if mutant else 0):
                return f"status {ran.returncode}:\n{ran.stdout[-2000:]}"
            return ""
        except subprocess.TimeoutExpired:
            return "it takes too long"
        finally:
            shutil.rmtree(folder)


@pytest.fixture(scope="module")
def tried(work: Path, sh: Run, request: pytest.FixtureRequest) -> Iterator[dict[str, Future[str]]]:
    """What becomes of all mutants that were asked for, several at a time."""
    said = sh(
        "cargo", "test", "--no-run", "--locked", "--offline", "--message-format=json",
        "--manifest-path", HOST / "loom/Cargo.toml", "-p", "blog-loom-models")  # fmt: skip
    built = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    files = {one["target"]["name"]: one["filenames"][0] for one in built if "filenames" in one}
    crates = {name: files[name] for name in ("loom", "model_core")}
    base = work / "base"
    for source in SOURCES:
        shutil.copytree(TOP / source, base / source)
    models = Models(base, crates)
    wanted = [
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == "test_weakened"
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {name: pool.submit(models.try_one, MUTANTS.get(name)) for name in wanted}


@pytest.mark.parametrize("name", ["none", *MUTANTS])
def test_weakened(tried: dict[str, Future[str]], name: str) -> None:
    """With "none", nothing is weakened, and all models hold, with two preemptions each."""
    assert not tried[name].result()


# --- mistakes -----------------------------------------------------------------------------

NAMED = {
    line.split()[0]: line.split(None, 3)[1:]
    for line in (HOST / "named").read_text().splitlines()
    if not line.startswith("#")
}


@pytest.fixture(scope="module")
def copied(work: Path) -> Path:
    """A copy of the work tree, to make mistakes in; newer than what cargo built of another one."""
    for name in files():
        (work / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, work / "copy" / name)
    return work / "copy"


@pytest.mark.parametrize("name", NAMED)
def test_a_mistake_is_noticed(name: str, copied: Path) -> None:
    file, test, edit = NAMED[name]
    text = (copied / file).read_text()
    subprocess.run(["sed", "-i", "-e", edit, copied / file], check=True)
    try:
        assert (copied / file).read_text() != text, "the edit changes nothing"
        done = subprocess.run(
            ["cargo", "test", "--locked", "--offline", "--target-dir", CACHE / "named",
             "-p", "blog-host-tests", "--lib", test], cwd=copied / "tests/host",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
    finally:
        (copied / file).write_text(text)
    assert "test result: FAILED" in done.stdout, done.stdout
