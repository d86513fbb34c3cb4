# SPDX-License-Identifier: GPL-2.0
"""Across a reboot: a guest is reset again and again, at random instants under load, and each boot
brings out what the one before has logged, up to its last record. Then another kernel finds it, and
memory that was damaged meanwhile."""

import json
import mmap
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run, by_kernel

PATIENCE = 200
MEM = 512
# The kernel reserves from the highest place down, where QEMU puts the initrd: with this alignment,
# its size doesn't matter.
RESERVE = "reserve_mem=12M:64M:blog"
MAGIC = b"BLOGKEPT"
# `Region` of blog/parts/persist/format.rs
PAGE = 4096


@dataclass
class Left:
    """What a boot was stopped with: its id, what the console had of each task, its tables."""

    boot: str
    tables: Path
    claims: dict[str, int] = field(default_factory=dict)


def judge(sh: Run, decoder: Path, snapshot: Path, left: Left, status: int = 0) -> int:
    """The tasks' numbers come back without a gap, up to those that the console had, at least;
    of all rings nothing is damaged or missing. How many there are."""
    command = [decoder, "--json", "--stats", "--sidetable", left.tables, snapshot]
    said = sh(*command, status=(status,)).splitlines()
    assert any("of an earlier boot" in line for line in said)
    items = [json.loads(line) for line in said if line.startswith("{")]
    found: dict[str, list[int]] = {}
    for item in items:
        if mark := re.fullmatch(rf"mark {left.boot} (\w+) (\d+)", item.get("message", "")):
            found.setdefault(mark[1], []).append(int(mark[2]))
    rings = [item for item in items if item.get("type") == "ring"]
    assert rings
    for name, least in left.claims.items() if not status else ():
        numbers = found.get(name, [])
        assert numbers == list(range(1, len(numbers) + 1)), f"{name}: a gap"
        assert len(numbers) >= least, f"{name}: {len(numbers)} of {least}"
    assert status or not sum(ring["missing"] + ring["damaged"] for ring in rings)
    return sum(map(len, found.values()))


def claims_of(text: str, boot: str) -> dict[str, int]:
    """What the console has of a boot, in whole lines."""
    claims: dict[str, int] = {}
    for name, n in re.findall(rf"^guest: at {boot} (\w+) (\d+)$", text, re.MULTILINE):
        claims[name] = max(claims.get(name, 0), int(n))
    return claims


class Boots:
    """Boots of one machine, whose memory is a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = folder / "memory"
        folder.mkdir()
        with self.memory.open("wb") as file:
            file.truncate(MEM << 20)

    @contextmanager
    def boot(self, flavour: str, args: str) -> Iterator[vm.Guest]:
        """QEMU, which starts with the memory as it is."""
        kernel = vm.kernel(flavour)
        script = TOP / "tests/guest/persist/run.sh"
        work = self.folder / f"{len(list(self.folder.iterdir()))}-{flavour}"
        work.mkdir()
        packed = vm.initrd(work / "initrd", kernel.busybox, script, kernel.files(), {})
        memory = f"memory-backend-file,id=m,size={MEM}M,mem-path={self.memory},share=on"
        machine = vm.Machine(2, MEM, f"tsc=reliable {args}",
                             more=["-object", memory, "-machine", "memory-backend=m"])  # fmt: skip
        with vm.Guest(work, kernel, packed, machine, 2) as guest:
            guest.wait("^guest: previous ", PATIENCE)
            guest.qmp("set-action", reboot="reset")
            yield guest

    def found(self, guest: vm.Guest) -> tuple[str, Path | None]:
        """The latest boot's id, and what it has found."""
        boot, size = re.findall(r"^guest: previous (\w+) (\d+)$", guest.text(), re.MULTILINE)[-1]
        if size == "0":
            return boot, None
        snapshot = guest.work / f"previous-{boot}"
        with guest.disks[1].open("rb") as disk:
            snapshot.write_bytes(disk.read(int(size)))
        return boot, snapshot


def stop(guest: vm.Guest, boot: str, chance: random.Random, tables: Path) -> Left:
    """Stops a boot in the middle of its work."""
    guest.wait(f"^guest: at {boot} ", PATIENCE)
    time.sleep(chance.uniform(0.1, 3))
    guest.qmp("stop")
    return Left(boot, tables, claims_of(guest.text(), boot))


EACH = pytest.mark.parametrize("flavour", by_kernel("stock", "x86"))
RESETS = {"stock": 2, "x86": 100}


@EACH
@pytest.mark.parametrize("kaslr", ["kaslr", "nokaslr"])
def test_resets(flavour: str, kaslr: str, work: Path, decoder: Path, sh: Run) -> None:
    """Many boots of one machine, of which each is reset in the middle of its work, or panics."""
    resets = RESETS[flavour]
    chance, boots = random.Random(f"persist {kaslr}"), Boots(work / f"{flavour}-{kaslr}")
    args = "unknown_nmi_panic reserve_mem=12M:4096:blog"
    args += " nokaslr" if kaslr == "nokaslr" else ""
    tables = vm.kernel(flavour).modules
    left, records, moved = None, 0, 0
    with boots.boot(flavour, args) as guest:
        for n in range(resets + 1):
            boot, snapshot = boots.found(guest)
            if left and snapshot:
                assert boot != left.boot
                records += judge(sh, decoder, snapshot, left)
                snapshot.unlink()
            elif left:
                # A kernel at a random place may lie where the memory was: then that is elsewhere,
                # and empty. The guest ends if it was damaged.
                moved += 1
            left = stop(guest, boot, chance, tables)
            # A panic restarts the machine at once: panic=-1.
            guest.qmp("inject-nmi" if n % 2 else "system_reset")
            guest.qmp("cont")
            guest.wait("^guest: previous ", PATIENCE)
    print(f"{resets} resets, {records} records, {moved} times elsewhere")
    assert records > 20 * resets, "too little was logged"
    assert moved <= (resets // 2 if kaslr == "kaslr" else 0), f"nothing was found {moved} times"


@pytest.mark.kernels("x86")
def test_the_memory_that_is_set_aside_is_beside_the_limit(
    work: Path, decoder: Path, sh: Run
) -> None:
    """Each boot has all the memory that it wants, and the next one finds it all: also while nobody
    clears what the last one has left, and where there is no room for a copy of that."""
    chance, boots, left = random.Random("limit"), Boots(work / "limit"), None
    args = "reserve_mem=16M:64M:blog nokaslr"
    for size, limit, clear in (
        (14336, 16384, 0),
        (14336, 16384, 0),
        (6144, 4096, 1),
        (6144, 4096, 1),
    ):
        more = f"blog_size={size} blog_max={limit} blog_clear={clear}"
        with boots.boot("x86", f"{args} {more}") as guest:
            boot, snapshot = boots.found(guest)
            if left:
                assert snapshot, f"nothing is found, with {more}"
                judge(sh, decoder, snapshot, left)
            guest.wait(f"^guest: memory {boot} ", PATIENCE)
            said = re.findall(rf"^guest: memory {boot} (\d+) (\d+)$", guest.text(), re.MULTILINE)
            kept, missing = map(int, said[0])
            assert missing == 0 and kept > size * 9 // 10, f"{kept} kept, {missing} missing: {more}"
            left = stop(guest, boot, chance, vm.kernel("x86").modules)


@pytest.mark.kernels("x86", "stock")
def test_beside_ftrace(work: Path, decoder: Path, sh: Run) -> None:
    """The same kernel has all lines from both; one of another build, Debian's after ours and ours after
    Debian's, has those of BLog, and says how many of ftrace's, which are text."""
    chance, boots, left = random.Random("ftrace"), Boots(work / "ftrace"), None
    args = f"{RESERVE} reserve_mem=12M:64M:ftrace trace_instance=ftrace^traceoff@ftrace nokaslr"
    report = []
    for flavour in ("x86", "x86", "stock", "x86"):
        with boots.boot(flavour, args) as guest:
            boot, snapshot = boots.found(guest)
            guest.wait(f"^guest: ftrace {boot} ", PATIENCE)
            if left:
                assert snapshot, f"{flavour} has found nothing"
                ours = judge(sh, decoder, snapshot, left)
                said = re.findall(rf"^guest: ftrace {boot} (\d+)$", guest.text(), re.MULTILINE)
                report.append((ours, int(said[0])))
            left = stop(guest, boot, chance, vm.kernel(flavour).modules)
    same, *others = report
    print(f"lines and ftrace's, of the same kernel: {same}; of others: {others}")
    # ftrace gets each line after us.
    assert same[0] - 2 <= same[1] <= same[0]
    assert min(ours for ours, _ in others) > 20


def torn(region: memoryview) -> None:
    """A part of it is gone, as what caches held."""
    part = len(region) // 6
    region[part : 2 * part] = bytes(part)


@pytest.mark.kernels("stock")
@pytest.mark.parametrize("damage", ["torn", "short"])
def test_damage(damage: str, work: Path, decoder: Path, sh: Run) -> None:
    """The next boot is well: it reads what can be read of a torn memory, and says that one which has
    become shorter is damaged. Of other damage, tests/host/postmortem reads the same."""
    chance, boots = random.Random("damage"), Boots(work / f"damage-{damage}")
    with boots.boot("stock", f"{RESERVE} nokaslr") as guest:
        boot, _ = boots.found(guest)
        left = stop(guest, boot, chance, vm.kernel("stock").modules)
    with boots.memory.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        (found,) = (at for at in range(0, len(memory), PAGE) if memory[at : at + 8] == MAGIC)
        if damage == "torn":
            with memoryview(memory) as view:
                torn(view[found : found + (12 << 20)])
    reserve = RESERVE if damage == "torn" else RESERVE.replace("12M", "12272K")
    with boots.boot("stock", f"{reserve} nokaslr log_buf_len=1M") as guest:
        _, snapshot = boots.found(guest)
        said = re.findall(r"^guest: kernel: .*persist=blog: (.*)$", guest.text(), re.M)
        if damage == "torn":
            assert snapshot and not said
            judge(sh, decoder, snapshot, left, status=1)
        else:
            assert not snapshot and "the log of the last boot is damaged" in " ".join(said)
        # And it logs.
        guest.wait("^guest: at ", PATIENCE)
