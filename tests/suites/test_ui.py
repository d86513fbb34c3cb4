# SPDX-License-Identifier: GPL-2.0
"""The compile errors that a driver author sees: BLog's own word for word, and all place for place.

Each file of tests/ui/cases is compiled against the real macros and the real kernel::blog.
Every error, its place and its first line, must be what the file says, without the words that
rustc puts around it: ours() has those that differ between its releases. A line like this,
below a line of code, says that there is an error at that column:

    //~         ^ `str` cannot be logged with `{:x}`: …

and "//~ <- text" says so of column 1. Each case is compiled for a kernel with and without
BLog: the errors must be the same. Files named pass-*.rs must compile; on-*.rs are for
kernels with BLog only.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import CACHE, TOP, Run

CASES = TOP / "tests/ui/cases"
KERNEL = TOP / "tests/host/kernel/Cargo.toml"
CFG = [
    'CONFIG_BLOG="m"',
    "CONFIG_BLOG_HOOKS",
    "CONFIG_BLOG_TASK_POINTER",
    "CONFIG_UML",
    "CONFIG_SMP",
    "MODULE",
]
OF_RUSTC = re.compile(
    r"no rules expected|\d+ positional arguments? in format string|invalid reference to positional"
    r"|(?:named )?argument never used|multiple unused formatting arguments|duplicate argument"
    r"|positional arguments cannot follow|invalid format string|unknown format trait `.*?`"
    r"|suffixes on string literals are invalid|the trait bound .* is not satisfied"
    r"|`.*` doesn't implement `[\w:]+`"
)  # fmt: skip
CRATE = re.compile(r"kernel::blog::(?:(?:[a-z]\w*::)*(?=[A-Z])|(?=(?:[a-z]\w*::)*<impl ))")
ENV = os.environ | {"RUSTC_BOOTSTRAP": "1", "CARGO_TERM_COLOR": "never"}


def each() -> Iterator[tuple[str, str]]:
    for path in sorted(CASES.glob("*.rs")):
        yield path.stem, "on"
        if not path.name.startswith("on-"):
            yield path.stem, "off"


@pytest.fixture(scope="module")
def crates(sh: Run) -> Path:
    """The folder with the kernel crate of the host tests, built with and without BLog."""
    built = CACHE / "ui"
    for mode, features in (("on", ["--features", "blog"]), ("off", [])):
        sh(
            "cargo", "rustc", "-q", "--locked", "--offline", "--lib", "--manifest-path", KERNEL,
            "--target-dir", built, *features, env=ENV)  # fmt: skip
        shutil.copy(built / "debug/libkernel.rlib", built / f"libkernel-{mode}.rlib")
    return built


def wanted(case: Path) -> list[str]:
    """The errors that a case says: LINE:COLUMN: TEXT."""
    said, at = [], 0
    for number, line in enumerate(case.read_text().splitlines(), 1):
        if not line.lstrip().startswith("//~"):
            at = number
        elif line.startswith("//~ <- "):
            said.append(f"{at}:1: {line[7:]}")
        else:
            column = line.index("^")
            said.append(f"{at}:{column + 1}: {line[column + 2 :]}")
    return sorted(said)


def ours(output: str, case: Path) -> list[str]:
    """The errors of a case as wanted() has them; without a place, if rustc gives another file's.

    Of a panic in a constant, the words are BLog's; before 1.89, its place is that of the panic. Other
    errors with a code are rustc's own: it has or lacks a label after a colon, and the path of a name.
    So are those of macros by rules, of format_args!, and about a trait that a type lacks: OF_RUSTC is
    what they begin with.
    Of an expression's private fields, it has one error, or one for each.
    """
    found: list[str] = []
    first: dict[str, str] = {}
    form = r"^(.*):(\d+):(\d+): error(?:\[(E\d+)\])?: (.*)$"
    for file, line, column, code, text in re.findall(form, output, re.MULTILINE):
        texts = [text]
        if code == "E0080":
            # If there is no text of ours, it follows from another error.
            texts = re.findall(r"BLog: .*?(?=: evaluation of |', /|$)", text)
        elif begin := OF_RUSTC.match(text):
            texts = [CRATE.sub("", begin[0])]
        elif code and code != "E0277":
            texts = [CRATE.sub("", text.split(": ")[0])]
        if code == "E0451":
            column = first.setdefault(line, column)
            names, _, struct = texts[0].partition(" of struct ")
            struct = struct.split()[0]
            texts = [f"field {n} of struct {struct} is private" for n in re.findall("`.*?`", names)]
        place = f"{line}:{column}: " if file == str(case) else ""
        found += [place + text for text in texts]
    return sorted(found)


@pytest.mark.parametrize(("name", "mode"), list(each()))
def test_case(work: Path, crates: Path, name: str, mode: str) -> None:
    case = CASES / f"{name}.rs"
    cfg = [word for option in CFG for word in ("--cfg", option)] if mode == "on" else []
    done = subprocess.run(
        ["rustc", "--edition", "2021", "--crate-name", "rust_case", "--crate-type", "lib",
         "--emit=metadata,obj", "-O", "-Zcrate-attr=feature(used_with_arg)",
         "-Aunexpected_cfgs", "-Adead_code", "-L", f"dependency={crates}/debug/deps",
         "--out-dir", work, "--extern", f"kernel={crates}/libkernel-{mode}.rlib",
         "--error-format=short", *cfg, case],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV, check=False)  # fmt: skip
    found = ours(done.stdout, case)
    said = [want if want in found else re.sub(r"^\d+:\d+: ", "", want) for want in wanted(case)]
    assert found == sorted(said), done.stdout
    assert done.returncode == (0 if name.startswith("pass-") else 1)
