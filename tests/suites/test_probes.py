# SPDX-License-Identifier: GPL-2.0
"""Probes in running kernels, by blog-decode: what they record is what the shell knows, what ftrace
records of the same functions, and enough to find a hang that no message explains."""

from collections import Counter
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run, Tap, by_kernel, for_guest

HERE = TOP / "tests/guest/probes"
PATIENCE = 200
# As many bytes a second: the first read is over at once, the second one after more than an hour.
STOPPED = {"bps": 1, "bps_rd": 0, "bps_wr": 0, "iops": 0, "iops_rd": 0, "iops_wr": 0}


@pytest.fixture(scope="module")
def programs(work: Path, decoder: Path) -> dict[str, Path]:
    ctl = decoder.with_name("blog-ctl")
    return for_guest(decoder, work / "blog-decode") | for_guest(ctl, work / "blog-ctl")


@pytest.mark.parametrize("flavour", by_kernel("stock", "x86"))
def test_guest(flavour: str, work: Path, programs: dict[str, Path], tap: Tap) -> None:
    kernel = vm.kernel(flavour)
    result = vm.run(work / f"guest-{flavour}", kernel, HERE / "probes.sh", files=kernel.files(),
                    programs=programs, seconds=PATIENCE)  # fmt: skip
    tap(result.lines())
    assert not result.problem, result.told()


@pytest.mark.kernels("stock")
def test_beside_ftrace(work: Path, programs: dict[str, Path], tap: Tap) -> None:
    """Each hit of ftrace's probes is one of ours, with the same argument. Ours were there first, and
    are removed last."""
    kernel = vm.kernel("stock")
    result = vm.run(work / "beside", kernel, HERE / "beside.sh", files=kernel.files(),
                    programs=programs, seconds=PATIENCE, warn=True)  # fmt: skip
    tap(result.lines())
    assert not result.problem, result.told()
    ours, theirs = (
        Counter((result.out / name).read_text().splitlines()) for name in ("ours", "theirs")
    )
    for kind in ("entry", "back", "inside"):
        assert sum(n for hit, n in theirs.items() if hit.startswith(kind)) >= 100
    assert not theirs - ours
    # What starts and ends blog-decode between the two
    assert (ours - theirs).total() < 10


@pytest.mark.kernels("stock")
def test_a_hang_is_found(work: Path, programs: dict[str, Path], decoder: Path, sh: Run) -> None:
    """The disk stops answering; virtio_blk says nothing. Live and in a dump, the reader's last record
    is a request that was queued, and that none completes."""
    kernel, folder = vm.kernel("stock"), work / "hang"
    dump = folder / "dump"
    disk = "driver=null-co,size=1G,read-zeroes=on,if=none,id=slow,throttling.bps-total=1000000000"
    more = ["-drive", disk, "-device", "virtio-blk-pci,drive=slow", "-device", "vmcoreinfo"]
    said: list[str] = []

    def stop(guest: vm.Guest) -> None:
        guest.wait("^guest: flows", PATIENCE)
        guest.qmp("block_set_io_throttle", device="slow", **STOPPED)
        said.append(guest.wait(r"^guest: hangs (\d+)", PATIENCE)[1])
        guest.dump(dump, "elf")
        guest.qmp("block_set_io_throttle", device="slow", **dict.fromkeys(STOPPED, 0))

    machine = vm.Machine(2, 768, more=more)
    result = vm.run(folder, kernel, HERE / "hang.sh", files=kernel.files(), programs=programs,
                    machine=machine, seconds=PATIENCE, warn=True, during=stop)  # fmt: skip
    assert said, result.told()
    tables = ["--sidetable", kernel.modules / "blog"]
    for source in (["--vmcore", dump, *tables], [result.out / "snapshot", *tables]):
        lines = sh(decoder, "--format", "{pid} {message}", *source).splitlines()
        queued = [line.split(" ", 2)[2] for line in lines if line.startswith(f"{said[0]} queue ")]
        done = {line.split(" ", 2)[2] for line in lines if " done tag" in line}
        assert len(queued) > 1, lines[-20:]
        assert all(request in done for request in queued[:-1])
        assert queued[-1] not in done, lines[-5:]
        tasks = sh(decoder, "tasks", *source)
        assert queued[-1] in tasks, tasks
