# SPDX-License-Identifier: GPL-2.0
"""Runs the tests of tools/testing/selftests/blog in guests, installed as kselftest installs them."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import vm
from conftest import TOP, run

HERE = TOP / "tools/testing/selftests/blog"


def install(work: Path) -> dict[str, Path]:
    """The tests, for an initrd: kselftest's own files are those of Linux."""
    out = work / "selftests"
    if not out.exists():
        # A tree with no more than that
        tree = work / "tree/tools/testing/selftests"
        shutil.copytree(HERE, tree / "blog")
        linux = vm.fetch("kernel") / "tools/testing/selftests"
        for name in ("lib.mk", "kselftest.h", "kselftest_harness.h", "kselftest"):
            (tree / name).symlink_to(linux / name)
        run("make", "-C", tree / "blog", "install", f"INSTALL_PATH={out}/blog",
            f"OUTPUT={tree}/blog", "USERCFLAGS=-Werror", "USERLDFLAGS=-static")  # fmt: skip
        shutil.copytree(linux / "kselftest", out / "kselftest")
    return {f"selftests/{name}": out / name for name in ("blog", "kselftest")}


def guest(
    work: Path,
    kernel: vm.Kernel,
    name: str,
    *,
    programs: Mapping[str, Path] | None = None,
    machine: vm.Machine | None = None,
    seconds: float = 400,
) -> vm.Result:
    """Runs one of them in a guest."""
    chosen = work / "name"
    work.mkdir(parents=True, exist_ok=True)
    chosen.write_text(f"{name}\n")
    return vm.run(
        work, kernel, TOP / "tests/guest/selftest.sh",
        files=kernel.files() | {"selftests/name": chosen},
        programs={**(programs or {}), **install(work.parent)},
        machine=machine, seconds=seconds)  # fmt: skip
