# SPDX-License-Identifier: GPL-2.0
"""Memory is fixed: a component has all of it from the start, even if the machine can spare little;
no user takes it away; no process that runs out of memory waits for BLog; and what BLog takes beside
it is as the page deploy.rst has it. Parameters, good and bad ones, and those that a kdump kernel
inherits."""

from pathlib import Path

import pytest
import vm
from conftest import TOP, Tap
from conftest import Run as Sh

HERE = TOP / "tests/guest/memory"
# Two nodes of 512 MiB, each with a CPU that shares no cache with the other one's.
NODES = ["-smp", "2,sockets=2"] + [
    word
    for node in range(2)
    for word in (
        *("-object", f"memory-backend-ram,id=m{node},size=512M"),
        *("-numa", f"node,nodeid={node},cpus={node},memdev=m{node}"),
    )
]
# Of each parameter, a value that is wrong, or too long; one without a value.
JUNK = (
    "blog.clock=tsc blog.counts=maybe blog.max_kb=99999999999999 blog.last_words=8 blog.kdump=2 "
    f"blog.persist={'x' * 600} blog.component=rnull:size_kb=128 blog.component=*:enable=2 "
    f"blog.component={'x' * 1023} blog.max_kb blog.component blog.persist=../../etc"
)
# The header of the crashed kernel's memory would be where there is none.
KDUMP = (
    "elfcorehdr=32G reserve_mem=1M:4096:blog blog.persist=blog "
    "blog.component=rust_blog:enable=1,size_kb=4096"
)
MACHINES = {
    "huge": ("stock", vm.Machine(2, 2048, "hugepages=870")),
    "user": ("stock", vm.Machine(2, 1024)),
    "node": ("stock", vm.Machine(2, 1024, more=NODES)),
    "beside": ("x86", vm.Machine(2, 512)),
    "boot": (
        "uml",
        vm.Machine(
            2,
            256,
            "panic_on_warn=1 blog.counts=Y blog.max_kb=16384 blog.clock=mono "
            "blog.component=rust_blog:level=debug blog.persist=nothing blog.kdump=Y",
        ),
    ),
    "junk": ("uml", vm.Machine(2, 256, JUNK)),
    "junk-module": ("stock", vm.Machine(2, 1024, JUNK)),
    "kdump": ("stock", vm.Machine(2, 1024, KDUMP)),
    "kdump-asked": ("stock", vm.Machine(2, 1024, f"{KDUMP} blog.kdump=1")),
}


@pytest.fixture(scope="module")
def hog(sh: Sh, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("memory") / "hog"
    sh("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", out, HERE / "hog.c")
    return out


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.kernels(MACHINES[name][0])) for name in MACHINES]
)
def test_guest(name: str, work: Path, hog: Path, tap: Tap) -> None:
    flavour, machine = MACHINES[name]
    kernel = vm.kernel(flavour)
    script = HERE / f"{name.partition('-')[0]}.sh"
    result = vm.run(
        work / name, kernel, script, files=kernel.files(),
        programs={"bin/hog": hog}, machine=machine, seconds=400)  # fmt: skip
    tap(result.lines())
    assert not result.problem, result.told()
