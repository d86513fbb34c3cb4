# SPDX-License-Identifier: GPL-2.0
"""Formatting, linters and the documentation build, two at a time.

A slow tool doesn't check files again that have passed: the cache has a mark for its input.
"""

import difflib
import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import conftest
import pytest
from conftest import CACHE, TOP, files

SECONDS = 40
TIER = "fast"

PASSED = CACHE / "passed"
TOOL = Path(sys.executable).parent
run = partial(conftest.run, cwd=TOP)

# C files for clang-format: all except those of macros that declare trace events and cases, which
# it takes for calls.
MACROS = ("bench/bench*.h", "bench/[elp]*.c", "bench/calls.c")
FORMATTED = (
    *("blog/*.[ch]", "rust/*.[ch]", "tests/*.[ch]"),
    *(f":!tests/{folder}/{name}" for folder in ("bench", "modules") for name in MACROS),
)

# Kernel C that clang-format 19 doesn't know: guards, operands of asm, and pointers to functions
# and arrays.
UNKNOWN = (
    (re.compile(r"\bguard\((\w+)\)\n\t+\("), r"guard(\1)("),
    (re.compile(r'("[=+]?\w+")\('), r"\1 ("),
    (re.compile(r"\b(void|int|u32|u64)\((__rcu )?\*"), r"\1 (\2*"),
)


def mark(inputs: list[str], *command: str) -> Path:
    """A file that is there if the command has passed with these inputs."""
    digest = hashlib.sha256("\0".join(command).encode())
    for name in sorted(inputs):
        digest.update(f"{name}\0".encode() + (TOP / name).read_bytes())
    return PASSED / f"{command[0]}-{digest.hexdigest()[:16]}"


def linux() -> Path:
    """The kernel's unmodified source."""
    return Path(run("scripts/fetch", "kernel").splitlines()[-1])


def rustfmt() -> None:
    """As the kernel formats; its commented-out options need a nightly compiler."""
    kernels = (linux() / ".rustfmt.toml").read_text().splitlines()
    ours = (TOP / "rustfmt.toml").read_text().splitlines()
    assert [x for x in kernels if x[:1] not in ("", "#")] == [x for x in ours if x[:1] != "#"]
    # Cases of compile errors are formatted so that the error is where it is.
    rust = [name for name in files("*.rs") if not name.startswith("tests/ui/cases/")]
    run("rustfmt", "--check", "--edition", "2021", "--config", "skip_children=true", *rust)


def checkpatch() -> None:
    run("scripts/lib/checkpatch-all")


def clang_format() -> None:
    """The kernel's style, with checkpatch's limit to a line in place of 80."""
    style = (linux() / ".clang-format").read_text()
    assert style.count("\nColumnLimit: 80\n") == 1
    style = style.replace("\nColumnLimit: 80\n", "\nColumnLimit: 100\n").removesuffix("...\n")
    style += "AlignConsecutiveMacros: Consecutive\nWhitespaceSensitiveMacros: [MODULE_PARM_DESC]\n"
    config = CACHE / "clang-format"
    config.write_text(style)
    diffs: list[str] = []
    for name in files(*FORMATTED):
        text = run("clang-format", f"--style=file:{config}", name)
        for pattern, kernels in UNKNOWN:
            text = pattern.sub(kernels, text)
        lines = (TOP / name).read_text().splitlines(), text.splitlines()
        diffs += difflib.unified_diff(*lines, name, "formatted", n=0, lineterm="")
    assert not diffs, "\n".join(diffs)


def is_shell(name: str) -> bool:
    if "." in Path(name).name:
        return name.endswith(".sh")
    with (TOP / name).open("rb") as file:
        return re.match(rb"#!.*\b(ba)?sh\n", file.readline()) is not None


def shellcheck() -> None:
    """A script's result also depends on the scripts that it sources."""
    scripts = files("*.sh") + [name for name in files("scripts", "tests", ".ci") if is_shell(name)]
    sourced = [name for name in scripts if name.endswith(".sh")]
    version = run(TOOL / "shellcheck", "--version")
    marks = {name: mark([name, *sourced], "shellcheck", version, name) for name in scripts}
    new = [name for name in marks if not marks[name].exists()]
    if new:
        run(TOOL / "shellcheck", "-S", "warning", *new)
    for name in new:
        marks[name].touch()


def ruff() -> None:
    run(TOOL / "ruff", "check", "--no-cache")
    run(TOOL / "ruff", "format", "--no-cache", "--check")


def mypy() -> None:
    run(TOOL / "mypy", "--cache-dir", CACHE / "mypy", *files("tests/*.py", "tools/*.py"))


def clippy() -> None:
    """A package's result depends on the files that it includes: on all but tests and pages."""
    inputs = files("*.rs", "*.toml", "*.lock", "tools/blog-ctl", "tools/blog-decode", "rust",
                   "blog")  # fmt: skip
    passed = mark(inputs, "clippy", run("cargo", "clippy", "--version"))
    if not passed.exists():
        run("cargo", "clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings")
        # The library as other programs have it, and the program without libkdumpfile.
        for features in ("", "cli"):
            run("cargo", "clippy", "--locked", "--package", "blog-decode", "--no-default-features",
                "--features", features, "--", "-D", "warnings")  # fmt: skip
        passed.touch()


def bindings() -> None:
    """The bindings of libkdumpfile equal bindgen's output for its header."""
    said = run("scripts/fetch", "--bindings")
    assert said == (TOP / "tools/blog-decode/kdumpfile/src/sys.rs").read_text()


def docs() -> None:
    run("scripts/docs")


def reuse() -> None:
    run(TOOL / "reuse", "lint", "--quiet")


STEPS: list[Callable[[], None]] = [
    checkpatch, clippy, mypy, docs, clang_format, shellcheck, rustfmt, ruff, bindings, reuse,
]  # fmt: skip


@pytest.fixture(scope="module")
def results() -> Iterator[dict[str, Future[None]]]:
    PASSED.mkdir(exist_ok=True)
    linux()
    with ThreadPoolExecutor(2) as pool:
        yield {step.__name__: pool.submit(step) for step in STEPS}


@pytest.mark.parametrize("step", [step.__name__ for step in STEPS])
def test_step(step: str, results: dict[str, Future[None]]) -> None:
    results[step].result()
