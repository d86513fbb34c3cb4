# SPDX-License-Identifier: GPL-2.0
"""What may happen to BLog on kernels as Debian has them, beside what the suite kernels tries on each:
drivers that are built wrongly, reloads, CPUs that go, sleep, lockdown; mitigations of other CPUs;
kdump; and KUnit's suites, without KUnit, which try settings and call sites.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import kunit_run
import pytest
import vm
from conftest import TOP, Run, Tap, for_guest
from test_kernels import END, HERE, PATIENCE, Built, Tree, build, in_root, root, tree

__all__ = ["root", "tree"]  # fixtures

KERNELS = ["6.12", "7.3"]
CPUS = {
    "max": ("max", "", ""),
    "rome": ("EPYC-Rome", "", "untrained return thunk"),
    "skylake": ("Skylake-Server", "retbleed=stuff", "Stuffing"),
}
CRASH = TOP / "tests/guest/crash"
Make = Callable[[str], Built]


@pytest.fixture(scope="module")
def made(work: Path, root: Path, tree: Tree, sh: Run) -> Make:
    """BLog and the driver for a kernel, once."""
    known: dict[str, Built] = {}

    def make(name: str) -> Built:
        if name not in known:
            known[name] = build(name, work / "builds", root, tree, sh)
        return known[name]

    return make


def silent(name: str, built: Built, work: Path, root: Path, sh: Run) -> dict[str, Path]:
    """The driver as builds make it that leave out a step, for an initrd."""
    inside = root / "build" / name
    sources = inside / "silent"
    sh("rm", "-rf", sources)
    sh("cp", "-r", TOP / "tests/modules/kernels", sources)
    blog = f"/build/{name}/blog"
    flags = (
        f"-DCONFIG_BLOG_MODULE=1 -DCONFIG_BLOG_CCALL=1 -I{blog}/include -idirafter {blog}/compat"
    )
    in_root(root, "make", "-C", f"/usr/src/linux-headers-{built.kernel.modules.name}",
            f"M=/build/{name}/silent", f"KCFLAGS={flags}",
            f"KBUILD_EXTRA_SYMBOLS={blog}/Module.symvers", "modules")  # fmt: skip
    work.mkdir(parents=True, exist_ok=True)
    uncompiled, stripped = work / "uncompiled.ko", work / "stripped.ko"
    sh("strip", "--strip-debug", "-o", uncompiled, sources / "blog_kernels.ko")
    sh("strip", "--strip-unneeded", "-o", stripped, inside / "kernels/blog_kernels.ko")
    return {f"silent/{file.name}": file for file in (uncompiled, stripped)}


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", KERNELS)
def test_guest(
    name: str, cpu: str, made: Make, work: Path, root: Path, decoder: Path, sh: Run, tap: Tap
) -> None:
    built, here = made(name), work / f"{name}-{cpu}"
    model, args, mitigation = CPUS[cpu]
    files = built.kernel.files() | silent(name, built, here, root, sh)
    result = vm.run(here, built.kernel, HERE / "deep.sh", files=files, warn=True, seconds=3 * PATIENCE,
                    machine=vm.Machine(4, 1024, args, cpu=model))  # fmt: skip
    tap(result.lines())
    assert not result.problem, result.told()
    log = (result.out / "dmesg").read_text()
    assert not [line for line in log.splitlines() if vm.COMPLAINTS.search(line)], log
    assert mitigation in (result.out / "vulnerabilities").read_text()
    # Nobody may see addresses there.
    text = sh(decoder, "-s", built.kernel.modules / "updates", result.out / "snapshot", status=(1,))
    assert "withheld>" in text and re.search(r"hardirq \d: irq_work \d+$", text, re.MULTILINE)


@pytest.mark.parametrize("name", KERNELS)
def test_kunit(name: str, work: Path, root: Path, sh: Run, subtests: pytest.Subtests) -> None:
    """Suites that look inside BLog. One case has a call site in Rust."""
    here = work / f"{name}-kunit"
    sh(TOP / "scripts/core-asm", "--kunit", "yes", "--tree", here / "tree")
    built = build(name, here, root, lambda _: here / "tree", sh)
    args = "blog.counts=1 log_buf_len=4M"
    result = vm.run(here, built.kernel, TOP / "tests/guest/kunit.sh", files=built.kernel.files(),
                    machine=vm.Machine(args=args), seconds=3 * PATIENCE, warn=True)  # fmt: skip
    log = (result.out / "dmesg").read_text()
    ended = re.findall(r"^\[[^]]*\]     (not ok|ok) \d+ (\w+)$", log, re.MULTILINE)
    good = {case for outcome, case in ended if outcome == "ok"}
    wanted = {
        case.partition(".")[2]
        for path in (*TOP.glob("blog/tests/core_*.rs"), *TOP.glob("blog/parts/*/tests.rs"))
        for case in kunit_run.cases_of(path)
    } - {"a_trigger_that_is_set_again_freezes"}
    for case in sorted(wanted | {case for _, case in ended}):
        with subtests.test(msg=case):
            assert case in good, log
    assert not result.problem, result.told()


@pytest.mark.parametrize("name", KERNELS)
def test_kdump(name: str, made: Make, work: Path, decoder: Path, sh: Run) -> None:
    """A dump without user, free and cache pages has what the thread did that crashed."""
    built, here = made(name), work / f"{name}-kdump"
    here.mkdir()
    kernel = built.kernel
    kexec = here / "kexec-load"
    sh("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", kexec, CRASH / "kexec-load.c")
    (here / "params").write_text("makedumpfile=''\n")
    files = kernel.files() | {"crash/params": here / "params"}
    in_crash = for_guest(decoder, here / "stripped") | {"bin/kdump": TOP / "packaging/kdump"}
    second = vm.initrd(here / "initrd-kdump", kernel.busybox, CRASH / "kdump.sh", files, in_crash)
    files |= {"crash/initrd": second, "crash/bzImage": kernel.image}
    packed = vm.initrd(
        here / "initrd", kernel.busybox, HERE / "kdump.sh", files, {"bin/kexec-load": kexec}
    )
    machine = vm.Machine(2, 1024, "tsc=reliable crashkernel=320M")
    with vm.Guest(here, kernel, packed, machine, 2) as guest:
        guest.wait("^guest: ready", PATIENCE)
        guest.wait("^blog-guest: exit 0", 2 * PATIENCE)
        guest.wait_end(PATIENCE)
        results, vmcore = guest.disks
        (here / "saved").mkdir()
        subprocess.run(["tar", "-C", here / "saved", "-xf", results], check=True)
        os.truncate(vmcore, int((here / "saved/size").read_text()))
        dump = here / "dump"
        sh(vm.fetch("debian") / "makedumpfile/run", "-c", "-d", "31", vmcore, dump)
        assert dump.stat().st_size < vmcore.stat().st_size // 4
    said = sh(decoder, "tasks", "--json", "--all", "-s", kernel.modules / "updates",
              "--vmcore", dump, status=(0, 1))  # fmt: skip
    entries = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    (crashed,) = [entry for entry in entries if entry.get("crashed")]
    last = crashed["records"][-1]["message"]
    assert last == END[-1]
