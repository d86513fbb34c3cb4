# SPDX-License-Identifier: GPL-2.0
"""Promises of README.md and CONTRIBUTING.md that no other suite checks.

The demonstration runs without a network, KSRC= builds a copy of one's own tree, and nothing needs
a newer Rust than README.md names.
"""

import json
import os
import re
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run, files, offline


def has_sys_admin() -> bool:
    found = re.search(r"^CapEff:\t(\w+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return found is not None and bool(int(found[1], 16) & 1 << 21)


def demo(sh: Run, target: str, ios: str) -> str:
    """What it prints, without a network: the cache is warm."""
    if not (alone := offline()):
        assert not has_sys_admin()
        pytest.skip("needs CAP_SYS_ADMIN or user namespaces: docker run --cap-add SYS_ADMIN")
    said = sh(*alone, "make", "-C", TOP, target, env=os.environ | {"IOS": ios})
    assert "\nTry it: " in said, said
    return said


@pytest.mark.kernels("x86")
def test_make_demo_needs_no_network(sh: Run) -> None:
    said = demo(sh, "demo", "10000")
    assert re.search(r"^    \[ *\d+\.\d+\] \w+ +rnull ", said, re.MULTILINE), said


def test_make_demo_stock_needs_no_network(sh: Run) -> None:
    """It fails where the log isn't what the driver has counted. It ends with a hang."""
    for what in ("demo-root", f"stock-{vm.places()[0].name}"):
        vm.fetch(what)
    said = demo(sh, "demo-stock", "2000")
    assert re.search(
        r"^    \[.*\] err +blog_disk softirq/\d blog_disk.c:\d+: .* -EIO$", said, re.MULTILINE
    ), said
    assert "The log has 2001 requests: 2000 done, 1 failed." in said, said
    hang = said.partition("\nThen two threads of the driver hang.")[2]
    assert re.search(
        r"^    Deadlock: disk_grow\[\d+\] \u21c4 disk_flush\[\d+\]", hang, re.MULTILINE
    ), said
    for row in (
        r"\u250c\u25b8 disk_grow\[\d+\]  +D  mutex of disk_flush\[\d+\]  .*: grow: wants the cache",
        r"\u2514\u2500 disk_flush\[\d+\]  +D  mutex of disk_grow\[\d+\]  .*: flush: wants the map",
    ):
        assert re.search(row, hang), said
    page = re.search(r"^The same for a browser: (.*)$", hang, re.MULTILINE)
    assert page and "Deadlock: disk_grow" in Path(page[1]).read_text(), said
    commands = hang.partition("\nTry it: ")[2].splitlines()
    assert len(commands) == 3, said
    for command in commands:
        assert sh("bash", "-c", command), command


def test_a_copy_of_one_s_own_tree_is_built(work: Path, sh: Run) -> None:
    """A change there is in the next build, and nothing else changes the tree."""
    own = work / "linux"
    command = f". scripts/lib/lib.sh; kernel_pristine; KSRC={own}; kernel_build uml-n; kernel_tree"
    pristine, build, tree = map(Path, sh("bash", "-c", command, cwd=TOP).split())
    sh("cp", "-a", "--reflink=auto", f"{pristine}/.", own)
    task = own / "init/init_task.c"
    text = task.read_text()
    env = os.environ | {"KSRC": str(own)}
    try:
        for mark in ("the first mark", "the second mark"):
            task.write_text(f'{text}\nconst char blog_mark[] = "{mark}";\n')
            before = sh("find", own, "-printf", "%p %T@ %s\\n")
            sh(TOP / "scripts/build-kernel", "uml-n", env=env)
            assert mark.encode() in (build / "init/init_task.o").read_bytes()
            assert (tree / "rust/kernel/blog").is_dir()
            assert sh("find", own, "-printf", "%p %T@ %s\\n") == before
    finally:
        sh("rm", "-rf", build.parent, tree, own)


def oldest_rust() -> str:
    found = re.search(
        r"^RUSTC_MIN=(\d+\.\d+)", (TOP / "scripts/lib/versions.sh").read_text(), re.MULTILINE
    )
    assert found
    return found[1]


def test_the_oldest_rust_is_the_same_everywhere() -> None:
    assert f"Rust {oldest_rust()} or newer" in (TOP / "README.md").read_text()
    page = " ".join((TOP / "CONTRIBUTING.md").read_text().split())
    assert f"minimum, {oldest_rust()} for" in page
    for name in files("*Cargo.toml"):
        if "[package]" in (text := (TOP / name).read_text()):
            assert f'\nrust-version = "{oldest_rust()}"\n' in text, name


def test_no_crate_needs_a_newer_one(sh: Run) -> None:
    command = "cargo metadata --format-version 1 --locked --offline --quiet"
    platform = "--filter-platform=x86_64-unknown-linux-gnu"
    packages = json.loads(sh(*command.split(), platform, cwd=TOP))["packages"]
    needed = {p["name"]: p["rust_version"] for p in packages if p["rust_version"]}
    assert len(needed) > 10
    newest = [int(part) for part in oldest_rust().split(".")]
    for name, version in needed.items():
        assert [int(part) for part in version.split(".")[:2]] <= newest, (name, version)
