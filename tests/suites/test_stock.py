# SPDX-License-Identifier: GPL-2.0
"""BLog on Debian's own kernel, without a patch: it builds, loads, logs and decodes, and refuses
anything that doesn't fit that kernel. Other suites load it (e2e, torture, crash)."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run, Tap

needs_kernel = pytest.mark.kernels("stock")


@pytest.fixture(scope="module")
def kernel() -> vm.Kernel:
    return vm.kernel("stock")


@needs_kernel
def test_guest(kernel: vm.Kernel, work: Path, decoder: Path, tap: Tap, sh: Run) -> None:
    sample = next(kernel.modules.rglob("rust_blog.ko"))
    assert " a __blog_abi\n" in sh("nm", sample)
    other = work / "other.ko"
    sh("objcopy", "--redefine-sym", "__blog_abi=before", "--add-symbol", "__blog_abi=0x123,local",
       sample, other)  # fmt: skip
    files = kernel.files() | {"stock/other.ko": other}
    result = vm.run(work, kernel, TOP / "tests/guest/stock/guest.sh", files=files, warn=True)
    tap(result.lines())
    assert not result.problem, result.told()
    text = sh(decoder, "-s", kernel.modules / "blog", result.out / "snapshot")
    assert "err   rust_blog modprobe" in text and "are not whole sectors: EINVAL" in text
    # What the sample says of addresses is for whom the kernel shows them.
    for kptr, status in enumerate([0, 0, 1]):
        snapshot = result.out / f"kptr{kptr}"
        text = sh(decoder, "-s", kernel.modules / "blog", snapshot, status=(status,))
        assert ("withheld>" in text) == bool(status), text


@needs_kernel
def test_lockdown(kernel: vm.Kernel, work: Path, decoder: Path, tap: Tap, sh: Run) -> None:
    """At level integrity, settings go through the parameter, and nobody gets addresses."""
    script, out = TOP / "tests/guest/stock/lockdown.sh", work / "lockdown"
    result = vm.run(out, kernel, script, files=kernel.files(), warn=True)
    tap(result.lines())
    assert not result.problem, result.told()
    text = sh(decoder, "-s", kernel.modules / "blog", result.out / "snapshot", status=(1,))
    assert "rust_blog modprobe" in text and "withheld>" in text


@needs_kernel
@pytest.mark.parametrize("while_", ["load", "sleep"])
def test_snapshot_device(
    kernel: vm.Kernel, work: Path, decoder: Path, sh: Run, while_: str
) -> None:
    """The guest is content until it is off, which calls syscore operations."""
    machine = vm.Machine(args=f"blog_while={while_}")
    script, out = TOP / "tests/guest/stock/sleep.sh", work / while_
    result = vm.run(out, kernel, script, files=kernel.files(), machine=machine, warn=True)
    assert not result.problem, result.told()
    text = sh(decoder, "-s", kernel.modules / "blog", result.out / "snapshot")
    assert "rust_blog modprobe" in text


@needs_kernel
def test_thread_that_executes(kernel: vm.Kernel, work: Path, decoder: Path, sh: Run) -> None:
    """What it has logged is by the process that it is now; nobody has the id of the thread. What it
    has logged before has the name of before."""
    program = work / "exec"
    sh("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", "-o", program,
       TOP / "tests/guest/stock/exec.c")  # fmt: skip
    result = vm.run(work / "exec-guest", kernel, TOP / "tests/guest/stock/exec.sh", files=kernel.files(),
                    programs={"bin/exec": program, "bin/after_exec": program}, warn=True)  # fmt: skip
    assert not result.problem, result.told()
    said = re.fullmatch(r"guest: thread (\d+) of (\d+)\n", (result.out / "said").read_text())
    assert said and said[1] != said[2]
    options = ["-s", kernel.modules / "blog", "--component", "rnull", "--json"]
    lines = sh(decoder, *options, result.out / "snapshot").splitlines()
    entries = [entry for entry in map(json.loads, lines) if "by_" in entry["message"]]
    assert len(entries) >= 2, lines
    for entry in entries:
        assert (entry["pid"], entry["tgid"]) == (int(said[2]), int(said[2]))
        assert entry["comm"] == ("exec" if "by_thread" in entry["message"] else "after_exec")
    tasks = sh(decoder, "tasks", "--all", "--json", *options[:2], result.out / "snapshot")
    assert f'"pid":{said[2]},' in tasks and f'"pid":{said[1]},' not in tasks, tasks


def metadata(kernel: vm.Kernel, out: Path, **given: object) -> subprocess.CompletedProcess[str]:
    """Runs it here, with other compilers than the kernel's."""
    release = kernel.modules.name
    _, _, cache = vm.places()
    options = {
        "headers": cache / "tools/stock-kernel/usr/src" / f"linux-headers-{release}",
        "source": cache / "src/linux-7.3",
        "out": out / "meta",
    } | given
    words = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
    return subprocess.run([TOP / "packaging/stock/metadata", *words], capture_output=True,
                          text=True, check=False, env=os.environ | {"PATH": f"{out}:{os.environ['PATH']}"})  # fmt: skip


def headers(kernel: vm.Kernel, work: Path, old: str, new: str) -> Path:
    """The headers of a kernel with another configuration."""
    whole = vm.places()[2] / f"tools/stock-kernel/usr/src/linux-headers-{kernel.modules.name}"
    here = work / "headers"
    shutil.rmtree(here, ignore_errors=True)
    (here / "include/config").mkdir(parents=True)
    for name in ("Module.symvers", "include/config/kernel.release"):
        shutil.copy(whole / name, here / name)
    config = (whole / ".config").read_text()
    assert old in config
    (here / ".config").write_text(config.replace(old, new))
    return here


CONFIGS = {
    "no Rust": ("CONFIG_RUST=y", "# CONFIG_RUST is not set", "has no Rust"),
    "other machine": ("CONFIG_X86_64=y", "CONFIG_ARM64=y", "not for x86_64"),
    "versions": ("# CONFIG_MODVERSIONS is not set", "CONFIG_MODVERSIONS=y", "CONFIG_MODVERSIONS"),
    "no debugfs": ("CONFIG_DEBUG_FS=y", "", "no CONFIG_DEBUG_FS"),
    "no tracepoints": ("CONFIG_TRACEPOINTS=y", "", "no CONFIG_TRACEPOINTS"),
    "no RCU for tasks": ("CONFIG_TASKS_RCU=y", "", "no CONFIG_TASKS_RCU"),
    "no zlib": ("CONFIG_ZLIB_DEFLATE=y", "", "no CONFIG_ZLIB_DEFLATE"),
}


@needs_kernel
@pytest.mark.parametrize("name", CONFIGS)
def test_kernels_that_do_not_fit(kernel: vm.Kernel, work: Path, name: str) -> None:
    old, new, why = CONFIGS[name]
    done = metadata(kernel, work, headers=headers(kernel, work, old, new))
    assert done.returncode == 1 and why in done.stderr, done.stderr


@needs_kernel
def test_headers_that_are_none(kernel: vm.Kernel, work: Path) -> None:
    done = metadata(kernel, work, headers=work)
    assert done.returncode == 1 and "apt install linux-headers" in done.stderr, done.stderr


@needs_kernel
def test_a_source_that_is_missing(kernel: vm.Kernel, work: Path) -> None:
    done = metadata(kernel, work, source="/nonexistent.tar.xz")
    assert done.returncode == 1 and "linux-source" in done.stderr, done.stderr


@needs_kernel
def test_another_compiler(kernel: vm.Kernel, work: Path) -> None:
    pretend(work, "1.0.0")
    done = metadata(kernel, work)
    assert done.returncode == 1 and "was built with rustc 1.85.1" in done.stderr, done.stderr


def pretend(work: Path, version: str) -> None:
    """A program that pretends to be a compiler: whichever this machine has."""
    stub = work / "rustc"
    stub.write_text(f"#!/bin/sh\necho 'rustc {version} (4eb161250 2025-03-15)'\n")
    stub.chmod(0o755)


@pytest.fixture
def same_rustc(work: Path) -> None:
    pretend(work, "1.85.1")


@needs_kernel
@pytest.mark.usefixtures("same_rustc")
def test_an_archive_that_is_cut(kernel: vm.Kernel, work: Path) -> None:
    cut = work / "cut.tar.xz"
    cut.write_bytes(b"\xfd7zXZ\0 and no more")
    done = metadata(kernel, work, source=cut)
    assert done.returncode == 1 and "can't be unpacked" in done.stderr, done.stderr


@needs_kernel
@pytest.mark.usefixtures("same_rustc")
def test_the_source_of_another_version(kernel: vm.Kernel, work: Path, sh: Run) -> None:
    source = work / "source"
    (source / "rust/kernel").mkdir(parents=True)
    (source / "rust/kernel/lib.rs").touch()
    (source / "Makefile").write_text("kernelversion:\n\t@echo 7.2.12\n")
    done = metadata(kernel, work, source=source)
    assert done.returncode == 1 and "is Linux 7.2.12, but the kernel is 7.3.4" in done.stderr


@pytest.mark.parametrize("option", [[], ["--out"], ["--nonsense", "x"]])
def test_wrong_usage(option: list[str]) -> None:
    done = subprocess.run([TOP / "packaging/stock/metadata", *option], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 2 and "usage:" in done.stderr
