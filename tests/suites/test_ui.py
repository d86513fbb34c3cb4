# SPDX-License-Identifier: GPL-2.0
"""The compile errors that a driver author sees, word for word and place for place.

Each file of tests/ui/cases is compiled against the real macros and the real kernel::blog.
Every error, its place and its first line, must be what the file says. A line like this,
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

SECONDS = 30
TIER = "fast"

CASES = TOP / "tests/ui/cases"
KERNEL = TOP / "tests/host/kernel/Cargo.toml"
CFG = ['CONFIG_BLOG="m"', "CONFIG_BLOG_HOOKS", "CONFIG_UML", "CONFIG_SMP", "MODULE"]
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
    form = rf"^{re.escape(str(case))}:(\d+:\d+): error(?:\[E\d+\])?: (.*)$"
    found = [f"{at}: {text}" for at, text in re.findall(form, done.stdout, re.MULTILINE)]
    assert sorted(found) == wanted(case), done.stdout
    assert done.returncode == (0 if name.startswith("pass-") else 1)
