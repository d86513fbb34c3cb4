# SPDX-License-Identifier: GPL-2.0
"""Formatting, linters and the documentation build, two at a time.

A slow tool doesn't check files again that have passed: the cache has a mark for its input.
"""

import difflib
import hashlib
import importlib
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import conftest
import floors
import pytest
from conftest import CACHE, TOP, files

PASSED = CACHE / "passed"
TOOL = Path(sys.executable).parent
run = partial(conftest.run, cwd=TOP)

# C files for clang-format: all except those of macros that declare trace events and cases, which
# it takes for calls.
MACROS = ("bench/bench*.h", "bench/peers.c")
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
        # The library as other programs have it, and the program with nothing that it can do without.
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


def ci() -> None:
    """Definitions for services are YAML, and run the gate, and all parts of the night once."""
    yaml: Any = importlib.import_module("yaml")
    gitlab, github = (yaml.safe_load((TOP / f"ci/git{x}.yml").read_text()) for x in ("lab", "hub"))
    assert gitlab["gate"]["script"] == ".ci/run"
    assert gitlab["night"]["script"] == '.ci/run deep "$PART"'
    ((parts,),) = ([*matrix.values()] for matrix in gitlab["night"]["parallel"]["matrix"])
    assert parts == [f"{n}/{len(parts)}" for n in range(1, len(parts) + 1)]
    jobs = github["jobs"]
    commands = {job: [x["run"] for x in jobs[job]["steps"] if ".ci/" in str(x)] for job in jobs}
    numbers = jobs["night"]["strategy"]["matrix"]["part"]
    part = f"${{{{ matrix.part }}}}/{len(parts)}"
    assert commands == {"gate": [".ci/run"], "night": [f".ci/run deep {part}"]}
    assert [f"{n}/{len(parts)}" for n in numbers] == parts


STEPS: list[Callable[[], None]] = [
    checkpatch, clippy, mypy, docs, clang_format, shellcheck, rustfmt, ruff, bindings, reuse, ci,
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


PART = """config BLOG_ONE
\ttristate "One"
\tdepends on BLOG{}

config BLOG_TWO
\ttristate "Two"
\tdepends on BLOG
"""
TWO = """#[no_mangle]
extern "C" fn blog_two_hit() {}
pub(crate) fn two() {}
"""

# Files, each with what is added to it, and what floors.py says of that.
PLANTED: dict[str, tuple[dict[str, str], set[str]]] = {
    "no floor": (
        {"blog/nowhere/mod.rs": ""},
        {"blog/nowhere/mod.rs: no floor in the table of blog/main.rs has it"},
    ),
    "import": (
        {"blog/sys/planted.rs": "use crate::{\n    sys::glue,\n    life::{self as up},\n};\n"},
        {"blog/sys/planted.rs: uses blog/life.rs, which is above it"},
    ),
    "super": (
        {"blog/sys/planted.rs": "mod inner {\n    use super::super::super::files::init;\n}\n"},
        {"blog/sys/planted.rs: uses blog/files/mod.rs, which is above it"},
    ),
    "path": (
        {"blog/sys/planted.rs": "fn f() {\n    crate::files::stats::show();\n}\n"},
        {"blog/sys/planted.rs: uses blog/files/stats.rs, which is above it"},
    ),
    "path by a name of a module": (
        {
            "blog/clock/planted.rs": "use crate::sys;\nfn f() {\n    sys::planted::f();\n}\n",
            "blog/sys/planted.rs": "use crate::clock::planted as other;\n",
        },
        {"blog/sys/planted.rs: uses blog/clock/planted.rs, which is above it"},
    ),
    "name that another module passes on": (
        {
            "blog/planted.rs": "pub(crate) use crate::life::init as begin;\n",
            "blog/sys/planted.rs": "use crate::planted::begin;\n",
        },
        {
            "blog/planted.rs: no floor in the table of blog/main.rs has it",
            "blog/sys/planted.rs: uses blog/life.rs, which is above it",
        },
    ),
    "kernel crate": (
        {"rust/kernel/blog/wire/planted.rs": "use super::super::ring::Ring;\n"},
        {
            "rust/kernel/blog/wire/planted.rs: "
            "uses rust/kernel/blog/ring/mod.rs, which is above it"
        },
    ),
    "name in C": (
        {"blog/sys/planted.c": "static void blog_f(void)\n{\n\tblog_planted();\n}\n",
         "blog/clock/planted.rs": '#[no_mangle]\nextern "C" fn blog_planted() {}\n'},
        {"blog/sys/planted.c: uses blog/clock/planted.rs, which is above it"},
    ),
    "C from C": (
        {"blog/sys/planted.c": "static void blog_f(void)\n{\n\tblog_planted();\n}\n",
         "blog/clock/planted.c": "void blog_planted(void)\n{\n}\n"},
        {"blog/sys/planted.c: uses blog/clock/planted.c, which is above it"},
    ),
    "declared in Rust": (
        {"blog/sys/planted.rs": 'extern "C" {\n    #[link_name = "blog_planted"]\n    fn f();\n}\n',
         "blog/clock/planted.rs": '#[no_mangle]\nextern "C" fn blog_planted() {}\n'},
        {"blog/sys/planted.rs: uses blog/clock/planted.rs, which is above it"},
    ),
    "header": (
        {"blog/sys/planted.c": '#include "../clock/planted.h"\n', "blog/clock/planted.h": ""},
        {"blog/sys/planted.c: uses blog/clock/planted.h, which is above it"},
    ),
    "circle of files": (
        {"blog/memory/one.rs": "use super::two;\n", "blog/memory/two.rs": "use super::one;\n"},
        {"blog/memory/one.rs: is in a circle with blog/memory/two"},
    ),
    "circle through C": (
        {
            "blog/memory/one.c": "void blog_one(void)\n{\n}\n",
            "blog/memory/one.rs": "use super::two;\n",
            "blog/memory/two.rs": 'extern "C" {\n    fn blog_one();\n}\n',
        },
        {"blog/memory/one.rs: is in a circle with blog/memory/two"},
    ),
    "circle of folders": (
        {
            "blog/memory/one/a.rs": "use crate::memory::two::a;\n",
            "blog/memory/one/b.rs": "",
            "blog/memory/two/a.rs": "",
            "blog/memory/two/b.rs": "use crate::memory::one::b;\n",
        },
        {"blog/memory/one/: is in a circle with blog/memory/two/"},
    ),
    "part by its path": (
        {
            "Kconfig": PART.format(""),
            "blog/parts/two.rs": TWO,
            "blog/memory/planted.rs": "use crate::parts::two;\n",
        },
        {
            "blog/memory/planted.rs: uses blog/parts/two.rs of a part",
            "blog/memory/planted.rs: uses blog/parts/two.rs, which is above it",
        },
    ),
    "part by its symbol": (
        {
            "Kconfig": PART.format(""),
            "blog/parts/two/mod.rs": "",
            "blog/memory/planted.c": "static void blog_f(void)\n{\n\tblog_two_hit();\n}\n",
            "rust/kernel/blog/call/planted.rs": "#[cfg(CONFIG_BLOG_TWO)]\nconst TWO: u8 = 2;\n",
        },
        {
            "blog/memory/planted.c: has names of the part two",
            "rust/kernel/blog/call/planted.rs: has names of the part two",
        },
    ),
    "format of a part": (
        {
            "Kconfig": PART.format(""),
            "blog/parts/two.rs": "use kernel::blog::wire::{planted, two};\n"
            "use kernel::blog::wire::file::Planted;\n",
            "rust/kernel/blog/wire/file.rs": "pub struct Planted {}\nimpl Planted {}\n",
            "rust/kernel/blog/wire/planted.rs": "",
            "rust/kernel/blog/wire/two.rs": "",
            "blog/memory/planted.rs": "use kernel::blog::wire::{file, two};\n",
        },
        {
            "rust/kernel/blog/wire/file.rs: has Planted, which only a part uses",
            "rust/kernel/blog/wire/planted.rs: is a format that only a part uses",
            "rust/kernel/blog/wire/two.rs: is a format that only a part uses",
        },
    ),
    "part without a symbol": (
        {"blog/parts/planted.rs": ""},
        {"Kconfig: has no BLOG_PLANTED that depends on BLOG"},
    ),
    "part of a part": (
        {
            "Kconfig": PART.format(" && !BLOG_TWO"),
            "blog/parts/one.rs": "use super::two::two;\n",
            "blog/parts/two.rs": TWO,
        },
        {"blog/parts/one.rs: uses the part two, on which BLOG_ONE doesn't depend"},
    ),
    "twins": (
        {
            "blog/memory/planted.rs": "pub(super) struct Twin<T>(T);\n",
            "rust/kernel/blog/ring/planted.rs": "pub enum Twin {}\n",
        },
        {
            "blog/memory/planted.rs: its type Twin has the name of another one in "
            "rust/kernel/blog/ring/planted.rs"
        },
    ),
    "number of arguments": (
        {
            "blog/sys/planted.h": "int blog_f(const char *a,\n\t   u32 b);\n",
            "blog/sys/planted.c": "int blog_f(const char *a, u32 b)\n{\n\treturn 0;\n}\n",
            "blog/sys/planted.rs": 'extern "C" {\n    fn blog_f(a: *const c_char) -> c_int;\n}\n',
        },
        {"blog/sys/planted.rs: has blog_f otherwise than blog/sys/planted.c"},
    ),
    "type of an argument": (
        {
            "blog/sys/planted.h": "void blog_f(u64 a, int (*b)(int, int));\n",
            "blog/sys/planted.rs": '#[no_mangle]\nextern "C" fn blog_f(a: u32, b: extern "C" fn()) {}\n',
        },
        {"blog/sys/planted.h: has blog_f otherwise than blog/sys/planted.rs"},
    ),
    "argument that a type stands for": (
        {
            "blog/sys/planted.h": "void blog_f(void *a, u64 b);\n",
            "blog/sys/planted.rs": "#[repr(transparent)]\npub(crate) struct Planted<'a>(&'a u8);\n"
            '#[no_mangle]\nextern "C" fn blog_f<\'a>(a: Option<Planted<\'a>>, b: u32) {}\n',
        },
        {"blog/sys/planted.h: has blog_f otherwise than blog/sys/planted.rs"},
    ),
    "type of a result": (
        {
            "blog/sys/planted.h": "bool blog_f(void);\n",
            "blog/sys/planted.rs": '#[no_mangle]\nextern "C" fn blog_f() -> c_int {\n    0\n}\n',
        },
        {"blog/sys/planted.h: has blog_f otherwise than blog/sys/planted.rs"},
    ),
    "C of another folder": (
        {
            "blog/sys/planted.c": "void blog_f(void)\n{\n}\n",
            "blog/sys/planted.h": "void blog_f(void);\n",
            "blog/clock/planted.rs": 'extern "C" {\n    safe fn blog_f();\n}\n',
        },
        {
            "blog/sys/planted.c: blog/clock/planted.rs of another folder declares what it defines"
        },
    ),
    "C of two files": (
        {
            "blog/sys/planted.c": "void blog_f(void)\n{\n}\n",
            "blog/sys/planted.h": "void blog_f(void);\n",
            "blog/sys/one.rs": 'extern "C" {\n    safe fn blog_f();\n}\n',
            "blog/sys/two.rs": 'extern "C" {\n    safe fn blog_f();\n}\n',
        },
        {"blog/sys/planted.c: several files in Rust declare what it defines"},
    ),
    "header of another folder": (
        {
            "blog/clock/planted.c": "void blog_f(void)\n{\n}\n",
            "blog/memory/planted.h": "void blog_f(void);\nvoid blog_g(void);\n",
        },
        {
            "blog/memory/planted.h: declares what blog/clock/ defines",
            "blog/memory/planted.h: declares blog_g, which nothing defines",
        },
    ),
    # What is right
    "down, and what is only said": (
        {
            "Kconfig": PART.format(" && BLOG_TWO"),
            "blog/parts/one.rs": "use super::two::two;\nuse crate::files;\n",
            "blog/parts/two.rs": TWO,
            "blog/main.rs": "use crate::parts::one;\n",
            "blog/files/planted.rs": "use crate::sys::glue as low;\nuse kernel::blog::Level;\n",
            "blog/sys/planted.rs": "//! [`crate::life`], `crate::files::init`.\n"
            "/// use crate::life;\nconst A: &str = \"crate::life::init()\";\n"
            "/* use crate::files; */\nconst B: char = '\"'; // use crate::life;\n",
            "blog/sys/planted.c": "/* blog_module_going() and blog_two_hit() */\n"
            "static struct blog_planted *blog_p = (void *)\"blog_module_going()\";\n",
        },
        set(),
    ),
}  # fmt: skip


def test_floors() -> None:
    """The kernel side stands on its floors; what this finds is tested below."""
    wrong = floors.faults(TOP)
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("case", PLANTED)
def test_floors_find(case: str, tmp_path: Path) -> None:
    """All faults that are planted in a copy, and no other one."""
    for name in files("blog", "rust/kernel", "packaging/anykernel", "include", "Kconfig"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(TOP / name, tmp_path / name)
    (tmp_path / "tests").symlink_to(TOP / "tests")
    added, expected = PLANTED[case]
    for name, text in added.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((path.read_text() if path.exists() else "") + text)
    found = floors.faults(tmp_path)
    assert {f"{fault.name}: {fault.text}" for fault in found} == expected
