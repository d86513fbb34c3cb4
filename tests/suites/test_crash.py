# SPDX-License-Identifier: GPL-2.0
"""Crash dumps: guests crash or hang, kdump (with makedumpfile) or QEMU captures them.

In the crash kernel, packaging/kdump first saves the log alone. blog-decode gets only the dump and
the side tables, and must find the last records of the guilty thread. The deep tier has more
combinations, and dumps of large guests. The file "said" of the suite's folder has the findings of
each dump, and their cost.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run, for_guest
from crash import cases, check, truth
from crash.cases import Case
from crash.check import Tools, Wrong
from crash.truth import Truth

HERE = TOP / "tests/guest/crash"
RECORDS = 1000
# A guest on a busy machine. Its console always names the event that it waits for.
PATIENCE = 300
CASES = [
    pytest.param(case, id=case.name, marks=pytest.mark.kernels(case.flavour))
    for case in (*cases.SHORT, *cases.LONG)
]


@pytest.fixture(scope="module")
def kexec(work: Path, sh: Run) -> Path:
    """The program that loads the crash kernel."""
    out = work / "kexec-load"
    sh("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", out,
       HERE / "kexec-load.c")  # fmt: skip
    return out


@pytest.fixture(scope="module")
def makedumpfile() -> Path:
    """Its folder."""
    return vm.fetch("debian") / "makedumpfile"


@pytest.fixture(scope="module")
def said(work: Path) -> Callable[[str], None]:
    def say(line: str) -> None:
        with (work / "said").open("a", encoding="utf-8") as file:
            print(line, file=file)

    return say


def start(guest: vm.Guest, *said: str, seconds: float = PATIENCE) -> str:
    """Waits until it is ready: it has said each of these. What it said from the last but one on."""
    text = ""
    for pattern in said:
        text = guest.wait(f"(?s).*?({pattern})", seconds)[0]
    return text


def boot(case: Case, work: Path, decoder: Path, kexec: Path, makedumpfile: Path) -> vm.Guest:
    """A guest that sets the scene."""
    kernel, kdump = vm.kernel(case.flavour), case.capture == "kdump"
    params = work / "params"
    params.write_text(
        f"scene={case.scene}\nsettings='records={RECORDS} {case.settings}'\n"
        f"kdump={'y' if kdump else ''}\nblog='{cases.BLOG.get(case.scene, '')}'\n"
        f"sysctls='{cases.SYSCTLS.get(case.scene, '')}'\nsysrq={'y' if case.sysrq else ''}\n"
        f"makedumpfile='{case.makedumpfile}'\n"
        f"snapshot={'y' if case.scene == 'blame' else ''}\n")  # fmt: skip
    files = {"crash/params": params}
    programs: dict[str, Path] = {}
    if kdump:
        in_crash = {"makedumpfile": makedumpfile} if case.makedumpfile else {}
        in_crash |= for_guest(decoder, work / "stripped")
        in_crash["bin/kdump"] = TOP / "packaging/kdump"
        # A distribution's kernel has its disks' drivers in modules.
        modules = kernel.files() if case.flavour == "stock" else {}
        second = vm.initrd(
            work / "initrd-kdump", kernel.busybox, HERE / "kdump.sh", files | modules, in_crash
        )
        files |= {"crash/initrd": second, "crash/bzImage": kernel.image}
        programs["bin/kexec-load"] = kexec
    files |= kernel.files()
    packed = vm.initrd(work / "initrd", kernel.busybox, HERE / "run.sh", files, programs)
    crash = f"crashkernel={256 if case.flavour == 'stock' else 80}M" if kdump else "panic=0"
    machine = vm.Machine(
        2, case.mem, f"{'' if kernel.other else 'tsc=reliable'} {cases.ARGS[case.scene]} {crash}",
        cpu=case.cpu if case.levels == 5 else f"{case.cpu},la57=off", more=["-device", "vmcoreinfo"],
    )  # fmt: skip

    return vm.Guest(work, kernel, packed, machine, 2 if kdump else int(case.scene == "blame"))


def from_kdump(
    case: Case, guest: vm.Guest, work: Path, makedumpfile: Path
) -> Iterator[tuple[str, Path]]:
    """What the crash kernel has brought out, in all forms that are asked for."""
    if case.flavour != "stock":
        guest.wait("blog_crash: frozen", PATIENCE)
    guest.wait("^blog-guest: exit 0", PATIENCE)
    guest.wait_end(60)
    results, vmcore = guest.disks
    (work / "saved").mkdir()
    subprocess.run(["tar", "-C", work / "saved", "-xf", results], check=True)
    os.truncate(vmcore, int((work / "saved/size").read_text()))
    for form in case.forms:
        options = cases.FORMS.get(form)
        dump = work / f"dump.{form}"
        if options is None:
            os.link(vmcore, dump)
        else:
            command: list[str | Path] = [makedumpfile / "run", *options, vmcore]
            with (work / f"makedumpfile.{form}").open("wb") as log, dump.open("wb") as out:
                if "-F" in options:
                    subprocess.run(command, check=True, stdout=out, stderr=log)
                else:
                    dump.unlink()
                    subprocess.run([*command, dump], check=True, stdout=log, stderr=log)
        yield form, dump


def live(guest: vm.Guest, work: Path) -> Path:
    """The snapshot that the guest has read of its own kernel."""
    said = guest.wait(r"(?s).*?^guest: snapshot (\d+) bytes", PATIENCE)
    snapshot = work / "live.snap"
    with guest.disks[0].open("rb") as disk:
        snapshot.write_bytes(disk.read(int(said[1])))
    return snapshot


def saved_by_kdump(tools: Tools, facts: Truth, work: Path) -> str:
    """Checks the log that was saved in the crash kernel, beside the dump."""
    (log,) = (work / "saved").glob("2*/blog")
    found = check.check_snapshot(tools, log, facts, RECORDS)
    start, middle, end = map(float, (work / "saved/seconds").read_text().split())
    size = int((work / "saved/size").read_text())
    return (
        f"the crash kernel saved {found}: {log.stat().st_size / 2**20:.1f} MiB in"
        f" {middle - start:.1f} s, and then the dump, {size / 2**20:.1f} MiB, in"
        f" {end - middle:.1f} s"
    )


def from_qemu(case: Case, guest: vm.Guest, work: Path) -> Iterator[tuple[str, Path]]:
    if case.capture == "qemu":
        guest.wait("end Kernel panic", PATIENCE)
    for form in case.forms:
        dump = work / f"dump.{form}"
        guest.dump(dump, form)
        yield form, dump


def by_steps(
    case: Case, guest: vm.Guest, facts: Truth, work: Path, look: Callable[[Path, Truth], str]
) -> None:
    """A dump at each stop of a log call, until it is over."""
    stops = 0
    while facts.step is not None:
        stops += 1
        dump = work / f"dump.{facts.step}"
        guest.dump(dump, case.forms[0])
        try:
            look(dump, facts)
        except Wrong as wrong:
            raise Wrong(f"{facts.step} instructions in, at {facts.place}: {wrong}") from None
        dump.unlink()
        guest.nmi()
        said = guest.wait("(?s).*?blog_crash: ready", PATIENCE)[0]
        facts = truth.read(case.scene, said)
    assert stops >= case.stops, f"only {stops} stops in the call"


def by_helpers(tools: Tools, dump: Path) -> str:
    """Has the helpers for drgn read it."""
    program = TOP / "tests/crash/read_dump.py"
    done = subprocess.run([sys.executable, program, tools.decode, dump, tools.tables],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode:
        raise Wrong(f"helpers for drgn: {done.stderr}")
    return done.stdout.strip()


@pytest.mark.parametrize("case", CASES)
def test_case(
    case: Case,
    work: Path,
    decoder: Path,
    kexec: Path,
    makedumpfile: Path,
    said: Callable[[str], None],
    subtests: pytest.Subtests,
) -> None:
    work = work / case.name
    work.mkdir()
    tools = Tools(decoder, vm.kernel(case.flavour).modules / "blog")

    def look(dump: Path, facts: Truth) -> str:
        found = check.check(tools, dump, facts, RECORDS, work)
        said(f"{case.name}: {case.mem} MiB, {case.levels} levels, {dump.suffix[1:]}: {found}")
        return found

    with boot(case, work, decoder, kexec, makedumpfile) as guest:
        facts = truth.read(case.scene, start(guest, "^guest: scene", "blog_crash: ready"))
        if case.capture == "steps":
            by_steps(case, guest, facts, work, look)
            return
        if facts.step is not None:
            said(f"{case.name}: {facts.step} instructions into a log call, at {facts.place}")
            guest.nmi()
        if case.scene == "blame":
            with subtests.test(msg="snapshot"):
                check.check_blame(tools, live(guest, work), facts)
        if case.capture == "kdump":
            dumps = from_kdump(case, guest, work, makedumpfile)
        else:
            dumps = from_qemu(case, guest, work)
        for form, dump in dumps:
            if case.capture == "kdump" and form == case.forms[0]:
                with subtests.test(msg="kdump"):
                    said(f"{case.name}: {saved_by_kdump(tools, facts, work)}")
            with subtests.test(msg=form):
                look(dump, facts)
                if case.capture == "kdump" and form == case.forms[0]:
                    said(f"{case.name}, {form}: helpers {by_helpers(tools, dump)}")
                dump.unlink()


# --- large dumps --------------------------------------------------------------------

CPUS = 64
PER_TASK = 10


def crowd_whole(tools: Tools, snapshot: Path, crowd: int) -> int:
    """Every task's ten records, in order; returns how many records there are in all."""
    seen: dict[int, int] = {}
    total = 0
    with vm.reading([tools.decode, "--json", "--sidetable", tools.tables, snapshot]) as child:
        for line in child.stdout or ():
            record = json.loads(line)
            if record["type"] != "record":
                continue
            total += 1
            if record["component"] != "torture_crowd":
                continue
            who, seq = record["args"][0]["value"], record["args"][1]["value"]
            assert seen.get(who, 0) == seq, f"writer {who}: {seq} after {seen.get(who, 0)}"
            seen[who] = seq + 1
    assert not child.returncode
    assert len(seen) == crowd and set(seen.values()) == {PER_TASK}, (
        f"{len(seen)} tasks of {crowd}, {sum(seen.values())} records"
    )
    return total


@pytest.mark.kernels("x86")
@pytest.mark.parametrize(
    ("crowd", "mem"),
    # The same content in guests of very different sizes, and different contents in one
    [(10000, 768), (10000, 4096), (3000, 768), (1000, 768)],
)
def test_big(crowd: int, mem: int, work: Path, decoder: Path, said: Callable[[str], None]) -> None:
    """Time and memory of extraction go with what BLog holds, not with the dump."""
    work = work / f"big-{crowd}-{mem}"
    work.mkdir()
    kernel = vm.kernel("x86")
    (work / "params").write_text(f"crowd={crowd}\nmax_kb=65536\n")
    files = {
        "torture/lib.sh": TOP / "tests/guest/torture/lib.sh",
        "torture/params": work / "params",
    }
    files |= kernel.files()
    packed = vm.initrd(work / "initrd", kernel.busybox, HERE / "big.sh", files, {})
    # For large machines: see test_torture.py.
    machine = vm.Machine(
        CPUS, mem, "tsc=reliable lpj=10384000 nowatchdog panic=0", more=["-device", "vmcoreinfo"]
    )

    dump = work / "dump.kdump-zlib"
    with vm.Guest(work, kernel, packed, machine, 0) as guest:
        text = start(guest, r"^guest: big \d+ KiB$|^Kernel panic", seconds=1800)
        held = re.search(r"big (\d+) KiB$", text)
        if not held:
            raise vm.Ended("the guest died before all had logged")
        began = time.monotonic()
        guest.dump(dump, "kdump-zlib")
        dumping = time.monotonic() - began
    tools = Tools(decoder, kernel.modules / "blog")
    out = check.extract(tools, dump, work / "snap")
    total = crowd_whole(tools, out.snapshot, crowd)
    said(f"{crowd} tasks, {CPUS} CPUs, {mem} MiB: held {held[1]} KiB, {total} records;"
         f" dump {dump.stat().st_size >> 20} MiB in {dumping:.1f} s; extracted"
         f" {out.snapshot.stat().st_size >> 10} KiB in {out.seconds:.2f} s,"
         f" {out.peak_kib >> 10} MiB of memory")  # fmt: skip
    dump.unlink()
