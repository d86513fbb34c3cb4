# SPDX-License-Identifier: GPL-2.0
"""BLog on kernels as Debian has them, from 6.1 on, and without any kernel build: modules are built by
make and gcc with a kernel's headers, in a root without Rust.

Each kernel boots, panics, and boots twice more if it has memory that survives. What tasks and
interrupts logged is found in its place, with its text, counted, and in a stream; after the panic it
is in the dump. What works is compared with the table of Documentation/blog/deploy.rst.
"""

import functools
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import selftests
import vm
from bench import run as benchmark
from conftest import TOP, Run, run

HERE = TOP / "tests/guest/kernels"
PATIENCE = 400
# Boots of which one finds the records of the one before
RESETS = 3
# Items of scripts/fetch, without "stock-"
KERNELS = ["6.1", "6.12", "7.2", "7.3"]
ARM64 = "6.12-arm64"
FLAVOURS = ["6.12-cloud", "6.12-rt"]
# Of blog_kernels: threads, records of each in the three steps, interrupts of a kind
TASKS, EACH, INTERRUPTS = 50, (200, 200, 400), 20
CPUS = 2


@dataclass
class Built:
    """A kernel, with BLog and a driver for it."""

    kernel: vm.Kernel
    config: str
    said: str  # by make

    @property
    def rt(self) -> bool:
        return "CONFIG_PREEMPT_RT=y" in self.config


@dataclass
class Seen:
    """What its guest has left."""

    built: Built
    guest: vm.Guest
    out: Path
    dump: Path
    previous: Path | None

    def counts(self, name: str) -> dict[str, str]:
        return dict(line.split(" ", 1) for line in (self.out / name).read_text().splitlines())


# --- building ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def root(sh: Run) -> Path:
    """A Debian that builds modules, with the headers of all these kernels where packages put them."""
    return vm.fetch("module-root").resolve() / "root"


def in_root(root: Path, *command: object) -> str:
    path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
    return run("chroot", root, "env", "-i", path, "LC_ALL=C", *command)


Tree = Callable[[str], Path]


@pytest.fixture(scope="module")
def tree(work: Path, sh: Run) -> Tree:
    """BLog's sources for such kernels, by architecture: made once for all of them."""

    @functools.cache
    def made(arch: str) -> Path:
        sh(TOP / "scripts/core-asm", "--arch", arch, "--tree", work / f"tree-{arch}")
        return work / f"tree-{arch}"

    return made


JOBS = f"-j{os.environ.get('BLOG_JOBS') or os.cpu_count()}"


def driver(root: Path, headers: str, name: str, module: str, *options: str) -> str:
    """Builds one of the modules of tests beside BLog; returns what make has said."""
    folder = f"/build/{name}/{module}"
    shutil.copytree(TOP / "tests/modules" / module, root / folder[1:])
    with (root / folder[1:] / "Kbuild").open("a") as kbuild:
        kbuild.write(f"include /build/{name}/blog/driver.mk\n")
    return in_root(root, "make", "-C", headers, JOBS, f"M={folder}", *options, "modules")


def build(name: str, work: Path, root: Path, tree: Tree, sh: Run) -> Built:
    """BLog and the driver, where vm.Kernel has them."""
    item = vm.fetch(f"stock-{name}").resolve()
    release = next(path.name for path in (item / "lib/modules").iterdir())
    headers = f"/usr/src/linux-headers-{release}"
    if not (root / f"usr/src/{item.name}").exists():
        sh("cp", "-alf", f"{item}/usr/.", root / "usr")
        (root / f"usr/src/{item.name}").touch()
    arm64 = name.endswith("arm64")
    inside = root / "build" / name
    shutil.rmtree(inside, ignore_errors=True)
    shutil.copytree(tree("arm64" if arm64 else "x86_64"), inside / "blog")
    shutil.copy(TOP / "blog/tests/testmod.h", inside)
    said = in_root(root, "make", "-C", f"/build/{name}/blog", f"KDIR={headers}", JOBS)
    said += driver(root, headers, name, "kernels")
    folder = work / name / ("arm64" if arm64 else "x86")
    modules = folder / "install/lib/modules" / release
    shutil.copytree(item / "lib/modules" / release, modules)
    (modules / "updates").mkdir()
    (modules / "blog").mkdir()
    strip = "aarch64-linux-gnu-strip" if arm64 else "strip"
    for module in ("blog/blog", "kernels/blog_kernels"):
        to = f"/build/{name}/{module}.stripped"
        in_root(root, strip, "--strip-debug", "--keep-section=.debug.blog", "-o", to,
                f"/build/{name}/{module}.ko")  # fmt: skip
        shutil.copy(root / to.lstrip("/"), modules / f"updates/{Path(module).name}.ko")
    sh("depmod", "-b", folder / "install", release)
    config = (root / headers.lstrip("/") / ".config").read_text()
    (folder / ".config").write_text(f"{config}CONFIG_BLOG=m\n")
    kernel = vm.Kernel(folder.name, folder)
    kernel.image.parent.mkdir(parents=True)
    shutil.copy(item / "vmlinuz", kernel.image)
    return Built(kernel, config, said)


def check_build(built: Built) -> None:
    """No warning of gcc, the assembler, objtool or modpost."""
    loud = re.findall("(?im)^.*(?:warning|error|objtool).*$", built.said)
    assert not loud, "\n".join(loud)


# --- the guest ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def programs(work: Path, root: Path, sh: Run) -> dict[str, dict[str, Path]]:
    """What guests run, by architecture."""
    made: dict[str, dict[str, Path]] = {"x86": {}, "arm64": {}}
    shutil.rmtree(root / "build/programs", ignore_errors=True)
    (root / "build/programs").mkdir(parents=True)
    shutil.copy(vm.fetch("kernel") / "tools/testing/selftests/kselftest.h", root / "build/programs")
    for name in ("maps", "streams"):
        shutil.copy(selftests.HERE / f"{name}.c", root / "build/programs")
        for arch, prefix in (("x86", "x86_64"), ("arm64", "aarch64")):
            out = f"/build/programs/{name}-{arch}"
            in_root(root, f"{prefix}-linux-gnu-gcc-14", "-O2", "-D_GNU_SOURCE", "-static", "-o", out,
                    f"/build/programs/{name}.c")  # fmt: skip
            made[arch][f"bin/{name}"] = root / out.lstrip("/")
    return made


def boot(built: Built, work: Path, programs: dict[str, Path], decoder: Path, sh: Run) -> Seen:
    kernel = built.kernel
    probe = ["probe", "add", "kernels", "--dry-run", 'f:do_exit "exit of %s" comm']
    (work / "probe").write_text(sh(decoder.with_name("blog-ctl"), *probe))
    files = kernel.files() | {"probe": work / "probe"}
    packed = vm.initrd(work / "initrd", kernel.busybox, HERE / "run.sh", files, programs)
    machine = vm.Machine(CPUS, 1024, "panic=0 reserve_mem=12M:64M:blog",
                         more=["-device", "vmcoreinfo"])  # fmt: skip
    with vm.Guest(work, kernel, packed, machine, 2) as guest:
        guest.wait("^guest: done", PATIENCE)
        guest.wait("end Kernel panic", PATIENCE)
        dump = work / "dump"
        guest.dump(dump, "kdump-zlib")
        out = work / "out"
        out.mkdir()
        sh("tar", "-C", out, "-xf", guest.disks[0])
        seen = Seen(built, guest, out, dump, None)
        if "reboot" not in lacks(seen):
            guest.qmp("set-action", reboot="reset")
            guest.qmp("system_reset")
            guest.wait("^guest: second$", PATIENCE)
            # KASLR may put the next kernel where the records are: that boot logs anew.
            size = None
            for _ in range(RESETS):
                guest.qmp("system_reset")
                size = guest.wait(r"^guest: (?:second|previous (\d+))$", PATIENCE)[1]
                if size:
                    break
            assert size, f"{RESETS} boots found no records of the boot before"
            seen.previous = work / "previous"
            with guest.disks[1].open("rb") as disk:
                seen.previous.write_bytes(disk.read(int(size)))
        return seen


def lacks(seen: Seen) -> list[str]:
    """What the kernel lacks, as the file stats says."""
    return seen.counts("stats")["lacks"].split()


# --- what is in it -----------------------------------------------------------------------------


@dataclass
class Log:
    """What the decoder says of a file."""

    records: list[dict[str, Any]]
    summary: dict[str, Any]
    lost: int


def decode(decoder: Path, sh: Run, seen: Seen, *what: object) -> Log:
    said = sh(decoder, "--json", "--stats", "--sidetable", seen.built.kernel.modules / "updates",
              "--component", "kernels", *what)  # fmt: skip
    entries = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    (summary,) = [entry for entry in entries if entry["type"] == "summary"]
    records = [entry for entry in entries if entry["type"] == "record"]
    lost = sum(entry["count"] for entry in entries if entry["type"] == "lost")
    return Log(records, summary, lost)


def place(record: dict[str, Any], rt: bool) -> tuple[str, str]:
    """Where a record is, and where its text says that it was logged."""
    who, number = record["message"].split(":")[0].split()
    found = f"{record['context']} {record['cpu']}"
    if who == "task":
        return f"{record['context']} {record['comm']}", f"task kernels/{number}"
    if who == "softirq" and rt:
        # There, a thread runs timers.
        return f"{record['context']} {record['comm']}", f"task ktimers/{number}"
    return found, f"{who} {number}"


def check_records(log: Log, each: tuple[int, ...], rt: bool) -> None:
    """Those of each context are in its rings, all of them and in order, with the text that
    printk would have printed."""
    texts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in log.records:
        if not re.match(r"(task|softirq|hardirq) \d+: ", record["message"]):
            continue
        found, said = place(record, rt)
        assert found == said, record
        head, _, text = record["message"].partition(": ")
        texts[head, text.split()[0]].append(text)
    want: dict[tuple[str, str], list[str]] = {}
    for cpu in range(CPUS):
        for who, text in (("softirq", "timer"), ("hardirq", "irq_work")):
            want[f"{who} {cpu}", text] = [f"{text} {n}" for _ in each for n in range(INTERRUPTS)]
    for n in range(TASKS):
        want[f"task {n}", "record"] = [
            f"record {i} of kernels/{n}, {i << 33 | n:#x} at PLACE"
            for records in each
            for i in range(records)
        ]
    place_of = re.compile(r"at kernels_task\+0x0/0x[0-9a-f]+ \[blog_kernels\]$|at 0x[0-9a-f]{16}$")
    calls = 0
    for key, found_texts in texts.items():
        if key[1] == "call":
            calls += len(found_texts)
            assert all(re.fullmatch(r"call \d+ of another CPU", text) for text in found_texts)
            continue
        plain = [place_of.sub("at PLACE", text) for text in found_texts]
        assert plain == want[key], f"{key}: {plain[:3]} ... {plain[-3:]}, {len(plain)}"
    assert want.keys() <= texts.keys(), want.keys() - texts.keys()
    assert 0 < calls <= (CPUS - 1) * INTERRUPTS * len(each), calls


def contexts(seen: Seen, decoder: Path, sh: Run) -> None:
    """By snapshot: nothing is lost or overwritten, and counts are those of the driver."""
    log = decode(decoder, sh, seen, seen.out / "contexts.snapshot")
    check_records(log, EACH[:1], seen.built.rt)
    logged = int((seen.out / "contexts.logged").read_text())
    counts = seen.counts("contexts.stats")
    assert (counts["records"], counts["lost"]) == (str(logged), "0"), counts
    assert len(log.records) == log.summary["decoded"] == logged and not log.lost, log.summary


def stream(seen: Seen, decoder: Path, sh: Run) -> None:
    """All that was logged before it was opened and since, once."""
    log = decode(decoder, sh, seen, seen.out / "stream")
    check_records(log, EACH, seen.built.rt)
    logged = int((seen.out / "stream.logged").read_text())
    assert len(log.records) == logged and not log.lost, (log.summary, log.lost, logged)


def mapping(seen: Seen, decoder: Path, sh: Run) -> None:
    said = (seen.out / "map").read_text()
    assert re.search(r"^ok \d+ a part is mapped$", said, re.MULTILINE), said
    assert "not ok" not in said, said


def probes(seen: Seen, decoder: Path, sh: Run) -> None:
    """Each thread that ends is recorded, in its own ring."""
    log = decode(decoder, sh, seen, seen.out / "probes.snapshot")
    ends = [record for record in log.records if record["message"].startswith("exit of kernels/")]
    assert len(ends) >= TASKS
    for record in ends:
        assert record["message"] == f"exit of {record['comm']}", record


def triggers(seen: Seen, decoder: Path, sh: Run) -> None:
    """A record of a thread's call site freezes the component."""
    log = decode(decoder, sh, seen, seen.out / "probes.snapshot")
    of_threads = {(r["site"], r["pid"]) for r in log.records if r["message"].startswith("task ")}
    said = (seen.out / "trigger").read_text()
    fired = re.findall(r"^frozen site=(\d+) .*pid=(\d+)$", said, re.MULTILINE)
    assert {(int(site), int(pid)) for site, pid in fired} & of_threads, said


def tasks_of(seen: Seen, decoder: Path, sh: Run, *option: str) -> list[dict[str, Any]]:
    said = sh(decoder, "tasks", "--json", *option, "-s", seen.built.kernel.modules / "updates",
              "--vmcore", seen.dump, status=(0, 1))  # fmt: skip
    entries = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return [entry for entry in entries if entry["type"] == "task"]


# What the thread that panics has logged
END = [*(f"kernels/end works: {n}" for n in range(50)), "kernels/end panics: error -5"]


def dumps(seen: Seen, decoder: Path, sh: Run) -> None:
    """The thread that called panic() is named, with all that it did; and so are those that wait."""
    tasks = tasks_of(seen, decoder, sh, "--all", "-n", "100")
    (crashed,) = [task for task in tasks if task["crashed"]]
    assert crashed["comm"] == "kernels/end", crashed
    assert [record["message"] for record in crashed["records"]] == END, crashed
    blocked = {task["comm"]: task for task in tasks_of(seen, decoder, sh, "--blocked")}
    for name, (has, takes) in (("kernels/ab", "AB"), ("kernels/ba", "BA")):
        last = blocked[name]["records"][-1]["message"]
        assert last == f"has lock {has}, takes lock {takes}", last


def last_words(seen: Seen, decoder: Path, sh: Run) -> None:
    said = sh(decoder, "console", "--format", "{message}", "-s", seen.built.kernel.modules / "updates",
              seen.guest.console, status=(0, 1))  # fmt: skip
    lines = [line for line in said.splitlines() if line.startswith("kernels/end")]
    assert len(lines) > 5 and lines == END[-len(lines) :], said


def reboot(seen: Seen, decoder: Path, sh: Run) -> None:
    """The next boot finds the last records of all threads."""
    assert seen.previous
    log = decode(decoder, sh, seen, seen.previous)
    texts = {record["message"].partition(" at ")[0] for record in log.records}
    assert {f"task {n}: record 2 of kernels/{n}, {2 << 33 | n:#x}" for n in range(TASKS)} <= texts


def blocker(seen: Seen, decoder: Path, sh: Run) -> None:
    """In the dump, two threads wait for each other."""
    tasks = {task["comm"]: task for task in tasks_of(seen, decoder, sh, "--blocked")}
    one, other = tasks["kernels/ab"], tasks["kernels/ba"]
    assert one["deadlock"] and other["deadlock"], tasks
    assert [wait["holder"] for wait in one["waits"]][:1] == [other["pid"]], one["waits"]


Check = Callable[[Seen, Path, Run], None]
# Rows of the table: names in the line "lacks" of stats, and what tests them where they aren't there
FEATURES: dict[str, tuple[str, Check]] = {
    "records of all contexts": ("", contexts),
    "streams": ("", stream),
    "mapped memory": ("", mapping),
    "probes": ("probes", probes),
    "triggers": ("", triggers),
    "crash dumps": ("", dumps),
    "last words": ("", last_words),
    "over a reboot": ("reboot", reboot),
    "who blocks whom": ("blocker", blocker),
}
# What a test has found, by kernel: all that it has tried
FOUND: dict[str, dict[str, bool]] = {}


@pytest.mark.parametrize("name", [*KERNELS, ARM64, *FLAVOURS])
def test_kernel(
    name: str,
    work: Path,
    root: Path,
    tree: Tree,
    programs: dict[str, dict[str, Path]],
    decoder: Path,
    sh: Run,
    subtests: pytest.Subtests,
) -> None:
    built = build(name, work, root, tree, sh)
    with subtests.test(msg="builds without a warning"):
        check_build(built)
    folder = work / name
    arch = "arm64" if built.kernel.other else "x86"
    seen = boot(built, folder, programs[arch], decoder, sh)
    with subtests.test(msg="the kernel has no complaint"):
        log = (seen.out / "dmesg").read_text()
        assert not [line for line in log.splitlines() if vm.COMPLAINTS.search(line)], log
    for title, (feature, check) in FEATURES.items():
        if feature in lacks(seen):
            FOUND.setdefault(name, {})[title] = False
            continue
        with subtests.test(msg=title):
            check(seen, decoder, sh)
            FOUND.setdefault(name, {})[title] = True
    if "CONFIG_RUST=y" not in built.config:
        FOUND.setdefault(name, {})["drivers in Rust"] = False
    print(f"{name} is {built.kernel.modules.name}, and lacks {' '.join(lacks(seen))}")


@pytest.mark.parametrize("name", KERNELS)
def test_instructions(name: str, work: Path, root: Path, tree: Tree, sh: Run) -> None:
    """Of a record of two scalars from C, by the project's benchmark, with the kernel's mitigations."""
    folder = work / "bench" / name
    kernel = build(name, work / "bench", root, tree, sh).kernel
    driver(root, f"/usr/src/linux-headers-{kernel.modules.name}", name, "bench", "BENCH_RUST=n")
    (kernel.build / "drivers/bench").mkdir(parents=True)
    shutil.copy(root / f"build/{name}/bench/blog_bench.ko", kernel.build / "drivers/bench")
    setup = benchmark.SETUPS["stock"] | {"build": str(kernel.build)}
    costs = benchmark.run("stock", setup, folder / "run")["costs"]
    for what, most in (("blog_c_on", 80), ("blog_c_off", 1.49)):
        cost = costs[f"{what} task"]["2"]
        print(f"{kernel.modules.name}, {what}: {cost:.1f} instructions")
        assert cost <= most, f"{what}: {cost:.1f}"


PAGE = TOP / "Documentation/blog/deploy.rst"


def table() -> dict[str, dict[str, str]]:
    """The table of kernels there: by kernel, what each feature's cell says."""
    lines = PAGE.read_text().splitlines()
    (head,) = [
        n for n, line in enumerate(lines) if re.search(r" 6\.1 .* 6\.12 .* 7\.2 .* 7\.3", line)
    ]
    marks = [(m.start(), m.end()) for m in re.finditer("=+", lines[head - 1])]
    end = next(n for n in range(head + 2, len(lines)) if lines[n].startswith("=="))
    names, *body = [
        [line[at : to if to != marks[-1][1] else None].strip() for at, to in marks]
        for n, line in enumerate(lines[head:end], head)
        if n != head + 1
    ]
    return {title: dict(zip(names[1:], cells, strict=False)) for title, *cells in body}


def test_table() -> None:
    """It says of each kernel that was tried what was found."""
    rows = table()
    if not FOUND:
        pytest.skip("no kernel was tried")
    for name, features in FOUND.items():
        for title, works in features.items():
            (cells,) = [row for text, row in rows.items() if title in text]
            if name in cells:
                assert cells[name].startswith("yes" if works else "no"), (name, title, cells)
