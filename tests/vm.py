#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Guests: packs an initrd, boots a kernel in QEMU or as User Mode Linux, and judges the run.

As a program (see --help), it runs one script in a guest, or a test's guest once more, or a shell,
also in a debugger; tests use run() or Guest.
It needs only Python's standard library.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TextIO, cast

TOP = Path(__file__).resolve().parent.parent
INIT = Path(__file__).resolve().parent / "guest/init"
COMMON = TOP / "tools/testing/selftests/blog/common.sh"

# What the kernel's log has when something is wrong. Each finds a message of complaints.txt that
# no other one finds. A backtrace alone is no complaint: sysrq-l prints one on demand.
KINDS = (
    "BUG[ :]", "WARNING: ", "Oops: ", "Kernel panic", "invalid opcode", "general protection fault",
    "segfault at", "Unable to handle", "panicked at", "KASAN: ", "UBSAN: ",
    "refcount_t: ", "list_add corruption", "list_del corruption", "DEBUG_LOCKS_WARN_ON",
    "INFO: trying to register non-static key", "detected stall", "detected expedited stall",
    "hard LOCKUP", "blocked for more than", "unregister_netdevice",
    "unknown parameter '[^']*' ignored", "kmemleak: [1-9][0-9]* new suspected",
    "page allocation failure",
)  # fmt: skip
COMPLAINTS = re.compile("|".join(KINDS))


class Ended(Exception):
    """The guest ended, or was silent for too long, before it printed the expected line."""


@dataclass(frozen=True)
class Other:
    """An architecture other than the host's, by its name in scripts/fetch."""

    name: str
    image: str
    qemu: str
    machine: str
    args: str  # of the kernel's command line


OTHERS = {
    # NMIs are interrupts of a higher priority.
    "arm64": Other("arm64", "arch/arm64/boot/Image", "qemu-system-aarch64", "virt,gic-version=3",
                   "console=ttyAMA0 irqchip.gicv3_pseudo_nmi=1"),
    "riscv64": Other("riscv64", "arch/riscv/boot/Image", "qemu-system-riscv64", "virt",
                     "console=ttyS0"),
}  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """A kernel that scripts/build-kernel has built."""

    flavour: str
    build: Path

    @property
    def uml(self) -> bool:
        return self.flavour.startswith("uml")

    @property
    def other(self) -> Other | None:
        """How its guests run, if not as those of x86_64."""
        return OTHERS.get(self.flavour.partition("-")[0])

    @property
    def parallel(self) -> bool:
        """Whether QEMU's CPUs run in parallel: on x86 only if nobody changes the kernel's text."""
        return self.flavour in ("x86-parallel", "x86-kcsan") or bool(self.other)

    @property
    def image(self) -> Path:
        if self.other:
            return self.build / self.other.image
        return self.build / ("linux" if self.uml else "arch/x86/boot/bzImage")

    @property
    def busybox(self) -> Path:
        """A static one for its guests, the same on each machine."""
        return fetch(self.other.name if self.other else "busybox-static") / "usr/bin/busybox"

    @property
    def modules(self) -> Path:
        """The folder lib/modules/RELEASE that its modules are installed in."""
        found = sorted((self.build / "install/lib/modules").glob("*/"))
        if not found:
            raise FileNotFoundError(f"no modules of {self.flavour}: run scripts/build-kernel")
        return found[0]

    def files(self) -> dict[str, Path]:
        """Its modules, for an initrd."""
        return {f"lib/modules/{self.modules.name}": self.modules}

    def option(self, name: str) -> str:
        """The value of CONFIG_name: "n" if it is not set."""
        config = (self.build / ".config").read_text()
        found = re.search(rf"^CONFIG_{name}=(.*)$", config, re.MULTILINE)
        return found[1] if found else "n"


@functools.cache
def places() -> tuple[Path, Path, Path]:
    """Where builds, the integrated tree and the cache are."""
    script = '. scripts/lib/lib.sh; dirname "$(kernel_build x86)"; kernel_tree; echo "$BLOG_CACHE"'
    said = subprocess.run(["bash", "-c", script], cwd=TOP, check=True, capture_output=True)
    builds, tree, cache = said.stdout.decode().splitlines()
    return Path(builds), Path(tree), Path(cache)


# Seconds that a command of a test may take; tests/conftest.py sets them by the tier.
patience = 1500.0
# The kernels that a test has asked for, each with the problem if it could not be built. None: here
# is no test.
asked: dict[str, str] | None = None


def kernel(flavour: str) -> Kernel:
    """The kernel of that flavour; an error if it isn't built, or if a test has not asked for it."""
    if asked is not None and flavour not in asked:
        raise LookupError(f"this test has no mark kernels({flavour!r}): see tests/conftest.py")
    if asked and asked[flavour]:
        raise FileNotFoundError(f"no kernel {flavour}: {asked[flavour]}")
    found = Kernel(flavour, places()[0] / flavour)
    if not found.image.exists():
        raise FileNotFoundError(f"no kernel {flavour}: run scripts/build-kernel {flavour}")
    return found


@functools.cache
def fetch(what: str) -> Path:
    """The folder of an item of scripts/fetch."""
    said = subprocess.run([TOP / "scripts/fetch", what], check=True, stdout=subprocess.PIPE)
    return Path(said.stdout.decode().split()[-1])


def debian(what: str, work: Path) -> Path:
    """The root of a small Debian that scripts/fetch has an archive of, unpacked."""
    root = work / "root"
    root.mkdir(parents=True)
    subprocess.run(
        ["tar", "-C", root, "--numeric-owner", "-xpf", fetch(what) / "root.tar"], check=True
    )
    return root


# The item of scripts/fetch with the QEMU; scripts/demo chooses a smaller one.
qemu_of = "debian"


def qemu() -> str:
    """Our QEMU, as guests may die under the system's: see scripts/fetch."""
    return str(fetch(qemu_of) / "bin/qemu-system-x86_64")


@contextlib.contextmanager
def reading(command: Sequence[str | Path]) -> Iterator[subprocess.Popen[str]]:
    """A program whose output is read while it runs. It ends with its reader, also with one that a
    test's limit has ended: Popen alone would wait for it."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


# --- initrd -------------------------------------------------------------------


def _entries(path: str, source: Path) -> Iterator[tuple[str, Path]]:
    yield path, source
    if source.is_dir():
        for inner in sorted(source.iterdir()):
            # Modules' links to their build tree lead nowhere in a guest.
            if not (inner.is_symlink() and inner.is_dir()):
                yield from _entries(f"{path}/{inner.name}", inner)


def initrd(
    out: Path, busybox: Path, script: Path, files: Mapping[str, Path], programs: Mapping[str, Path]
) -> Path:
    """Packs busybox, the guest's init, lib.sh and common.sh, the script as /run, and files (by their
    paths in the guest).

    Written as a cpio archive in the kernel's "newc" form, not compressed.
    """
    modes: dict[str, tuple[int, bytes | Path]] = {
        f"/{name}": (stat.S_IFDIR | 0o755, b"") for name in ("proc", "sys", "dev", "tmp", "out")
    }
    everything = [(path, source, 0o644) for path, source in files.items()]
    everything += [(path, source, 0o755) for path, source in programs.items()]
    everything += [("bin/busybox", busybox, 0o755), ("init", INIT, 0o755)]
    everything += [("run", script, 0o755), ("lib.sh", INIT.with_name("lib.sh"), 0o644)]
    everything += [("common.sh", COMMON, 0o644)]
    for target, source, mode in everything:
        for path, inner in _entries(f"/{target}", source):
            for parent in Path(path).parents:
                modes.setdefault(str(parent), (stat.S_IFDIR | 0o755, b""))
            if inner.is_dir():
                modes[path] = stat.S_IFDIR | 0o755, b""
            else:
                modes[path] = stat.S_IFREG | mode, inner
    modes["/bin/sh"] = stat.S_IFLNK | 0o777, b"busybox"
    modes.pop("/", None)
    with out.open("wb") as archive:
        for number, (path, (mode, what)) in enumerate(sorted(modes.items()), 1):
            _newc(
                archive,
                path[1:],
                number,
                mode,
                what if isinstance(what, bytes) else what.read_bytes(),
            )
        _newc(archive, "TRAILER!!!", 0, 0, b"")
    return out


def _newc(archive: BinaryIO, path: str, number: int, mode: int, data: bytes) -> None:
    name = path.encode() + b"\0"
    numbers = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % value for value in numbers) + name
    archive.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))


# --- one guest ------------------------------------------------------------------


@dataclass
class Machine:
    """What a guest runs on. With icount, QEMU's clocks count instructions, one a ns."""

    cpus: int = 4
    mem: int = 1024  # MiB
    args: str = ""  # more for the kernel's command line
    cpu: str = "max"
    icount: bool = False
    more: list[str] = field(default_factory=list)  # of QEMU's options

    def command(self, kernel: Kernel, initrd: Path, disks: list[Path], qmp: Path) -> list[str]:
        args = f"panic=-1 quiet log_buf_len=2M {self.args}"
        if kernel.uml:
            # More than one CPU needs seccomp mode.
            drives = [f"ubd{n}={disk}" for n, disk in enumerate(disks)]
            return [str(kernel.image), f"mem={self.mem}M", "seccomp=on", f"ncpus={self.cpus}",
                    f"initrd={initrd}", "rdinit=/init", *drives, "con=null", "con0=fd:0,fd:1",
                    *args.split()]  # fmt: skip
        if kernel.option("KASAN") == "y":
            # With 5-level paging, KASAN may report the boot itself: identify_cpu() clears
            # and reads again what the CPU can do, and an interrupt in between takes
            # KASAN's shadow to be where it is with 4 levels.
            args = f"no5lvl {args}"
        # On a busy host, the loop in check_timer() may be over before QEMU has delivered
        # the timer interrupts that it counts: an emulated timer needn't be checked.
        # Without tsc=nowatchdog, a boot now and then hangs. So it does, or dies, with a thread
        # for each CPU, unless the kernel's text is never changed: see "Kernels" in docs/testing-add.rst.
        if kernel.other:
            args = f"{kernel.other.args} {args}"
        else:
            args = f"console=ttyS0 no_timer_check tsc=nowatchdog {args}"
        parallel = kernel.parallel and not self.icount
        accel = ["-accel", f"tcg,thread={'multi' if parallel else 'single'}"]
        accel += ["-icount", "shift=0,sleep=off"] if self.icount else []
        drives = []
        for n, disk in enumerate(disks):
            drives += ["-drive", f"file={disk},format=raw,if=none,id=d{n},cache=unsafe",
                       "-device", f"virtio-blk-pci,drive=d{n}"]  # fmt: skip
        machine = [qemu(), "-machine", "q35"]
        if kernel.other:
            program = fetch(kernel.other.name) / kernel.other.qemu
            machine = [str(program), "-machine", kernel.other.machine]
        return [*machine, *accel, "-cpu", self.cpu,
                "-smp", str(1 if self.icount else self.cpus), "-m", str(self.mem),
                "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot",
                "-qmp", f"unix:{qmp},server=on,wait=off", *drives, *self.more,
                "-kernel", str(kernel.image), "-initrd", str(initrd), "-append", args]  # fmt: skip


def memory_folder() -> str:
    """Where User Mode Linux has the file that is its memory. In /tmp, all that a guest changes may be
    written to a disk; in /dev/shm, it needs room for some guests, and must be code."""
    with contextlib.suppress(FileNotFoundError):
        shm = os.statvfs("/dev/shm")
        if shm.f_bavail * shm.f_frsize >= 4 << 30 and not shm.f_flag & os.ST_NOEXEC:
            return "/dev/shm"
    return "/tmp"


def _end_with_parent() -> None:
    """A guest doesn't outlive its parent, even if that is killed: PR_SET_PDEATHSIG."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Guest:
    """A kernel that runs. Its files are in the folder `work`: console, results."""

    def __init__(
        self, work: Path, kernel: Kernel, initrd: Path, machine: Machine, disks: int = 1
    ) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.work = work
        self.console = work / "console"
        self.disks = [work / f"disk{n}" for n in range(disks)]
        for disk in self.disks:
            disk.unlink(missing_ok=True)
            with disk.open("wb") as file:
                file.truncate(max(4 << 30, (machine.mem + 1024) << 20))
        # A socket's path must be short.
        self._scratch = Path(tempfile.mkdtemp(prefix="blog-"))
        self._qmp: TextIO | None = None
        self._text, self._read = "", 0  # what was read of the console, and how many bytes
        self._lock = threading.Lock()
        self._seen = 0  # characters of it that wait() has looked at
        command = machine.command(kernel, initrd, self.disks, self._scratch / "qmp")
        # For again()
        (work / "command").write_text(shlex.join(command) + "\n")
        with self.console.open("wb") as out:
            # A group of its own: UML has children that would outlive it.
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True, preexec_fn=_end_with_parent,
                env=os.environ | {"TMPDIR": memory_folder()})  # fmt: skip

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Its end is that of the block. If it was the wrong one, the end of its output says why."""
        self.end()
        if isinstance(error, Ended):
            raise Ended(f"{error}\n{self.tail()}") from None

    def text(self) -> str:
        """Its output so far."""
        with self._lock, self.console.open("rb") as file:
            file.seek(self._read)
            new = file.read()
            self._read += len(new)
            self._text += new.decode(errors="replace").replace("\r", "")
            return self._text

    def tail(self) -> str:
        """The end of its output."""
        return "\n".join(self.text().splitlines()[-15:])

    def alive(self) -> bool:
        return self.process.poll() is None

    def wait(self, pattern: str, seconds: float) -> re.Match[str]:
        """Waits for the console to match, after what matched before."""
        end = time.monotonic() + seconds
        while True:
            alive = self.alive()
            text = self.text()
            if match := re.compile(pattern, re.MULTILINE).search(text, self._seen):
                self._seen = match.end()
                return match
            if not alive:
                raise Ended(f"the guest ended before it said {pattern!r}")
            if time.monotonic() > end:
                raise Ended(f"the guest did not say {pattern!r} in {seconds:.0f} s")
            time.sleep(0.05)

    def wait_end(self, seconds: float) -> None:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Ended(f"the guest did not end in {seconds:.0f} s") from None

    def qmp(self, command: str, **arguments: object) -> object:
        """Makes QEMU execute a command; returns the answer."""
        if self._qmp is None:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(300)
                connection.connect(str(self._scratch / "qmp"))
                self._qmp = cast("TextIO", connection.makefile("rw"))
            self._qmp.readline()
            self.qmp("qmp_capabilities")
        json.dump({"execute": command, "arguments": arguments}, self._qmp)
        self._qmp.write("\n")
        self._qmp.flush()
        # Events may come before the answer.
        while line := self._qmp.readline():
            answer = json.loads(line)
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise Ended(f"{command}: {answer['error'].get('desc')}")
        raise Ended(f"{command}: QEMU is gone")

    def nmi(self) -> None:
        self.qmp("inject-nmi")

    def dump(self, path: Path, form: str) -> None:
        """Dumps the guest's memory; the guest stands still meanwhile."""
        path.unlink(missing_ok=True)  # QEMU appends to what is there
        self.qmp("dump-guest-memory", paging=False, protocol=f"file:{path}", format=form)

    def end(self, keep_disks: bool = False) -> None:
        """Kills it if it runs, and removes files that nobody reads."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self._qmp:
            # A command that QEMU did not read any more is still to be written.
            with contextlib.suppress(OSError):
                self._qmp.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        for disk in self.disks if not keep_disks else ():
            disk.unlink(missing_ok=True)


# --- a script in a guest ----------------------------------------------------------


@dataclass
class Result:
    """How a guest has ended."""

    status: int
    problem: str  # nothing, if all is well
    guest: Guest
    out: Path  # what it left in /out

    def lines(self) -> list[str]:
        """The script's lines, which start with "guest: "."""
        return re.findall(r"^guest: (.*)$", self.guest.text(), re.MULTILINE)

    def told(self) -> str:
        """The problem, with the end of the console."""
        return f"{self.problem}\n{self.guest.tail()}\nconsole: {self.guest.console}"


TIMEOUT, NO_WORD, NO_RESULTS, COMPLAINED = 124, 125, 122, 121


def _unpack(disk: Path, out: Path) -> None:
    """Writes what a guest left in /out to this folder."""
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-C", out, "-xf", disk], stderr=subprocess.DEVNULL)


def _judge(guest: Guest, out: Path, in_time: bool, seconds: float, warn: bool) -> tuple[int, str]:
    text = guest.text()
    said = re.findall(r"^blog-guest: exit (\d{1,3})$", text, re.MULTILINE)
    if not said and not in_time:
        return TIMEOUT, f"the guest was killed after {seconds:.0f} s"
    if not said:
        return NO_WORD, "the guest ended without an exit status"
    _unpack(guest.disks[0], out)
    try:
        log = (out / "dmesg").read_text(errors="replace")
    except OSError:
        return NO_RESULTS, "the guest's disk has no results"
    # The console shows errors only, as warnings would fall into the tests' lines;
    # warnings are in the kernel's log.
    complaints = {line for line in (text + log).splitlines() if COMPLAINTS.search(line)}
    if status := int(said[-1]):
        return status, f"the script in the guest failed with status {status}"
    if complaints and not warn:
        return COMPLAINED, "the kernel complained:\n" + "\n".join(sorted(complaints)[:5])
    return 0, ""


def run(
    work: Path,
    kernel: Kernel,
    script: Path,
    *,
    files: Mapping[str, Path] | None = None,
    programs: Mapping[str, Path] | None = None,
    machine: Machine | None = None,
    seconds: float = 120,
    warn: bool = False,
    during: Callable[[Guest], None] | None = None,
    echo: Callable[[str], None] | None = None,
) -> Result:
    """Runs a script in a guest to its end, and says how it went.

    With warn, the kernel may complain. `during` runs in a thread beside the guest;
    `echo` gets each line that the script says.
    """
    machine = machine or Machine()
    shutil.rmtree(work / "out", ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    packed = initrd(work / "initrd", kernel.busybox, script, files or {}, programs or {})

    guest = Guest(work, kernel, packed, machine)
    try:
        beside = threading.Thread(target=during or (lambda _: None), args=(guest,))
        beside.start()
        in_time = _to_end(guest, seconds, echo)
    finally:
        guest.end(keep_disks=True)
    beside.join()
    status, problem = _judge(guest, work / "out", in_time, seconds, warn)
    for disk in guest.disks:
        disk.unlink()
    return Result(status, problem, guest, work / "out")


def _to_end(guest: Guest, seconds: float, echo: Callable[[str], None] | None) -> bool:
    """Waits for its end; False if that took too long."""
    end, done = time.monotonic() + seconds, 0
    while True:
        alive = guest.alive()
        # Whole lines only, while more may come.
        new = guest.text()[done:]
        new = new[: new.rfind("\n") + 1] if alive else new
        done += len(new)
        if echo:
            for line in re.findall(r"^guest: (.*)$", new, re.MULTILINE):
                echo(line)
        if not alive:
            return True
        if time.monotonic() > end:
            return False
        with contextlib.suppress(Ended):
            guest.wait_end(0.2)


# --- a guest once more -------------------------------------------------------------


def again(folder: Path, *, shell: bool, gdb: bool, out: Path | None) -> int:
    """Runs the guest of this folder on this terminal: with `shell`, its init starts one in place of
    the script, which is /run; with `gdb`, a debugger has the kernel; with `out`, what it leaves in
    /out goes there. Returns the exit status."""
    words = shlex.split((folder / "command").read_text())
    is_uml = "-append" not in words
    disks = [word for text in words for word in re.findall(r"(?:file|ubd\d)=(/[^,]*)", text)]
    with tempfile.TemporaryDirectory(prefix="blog-") as scratch:
        words = [re.sub(r"(?<=^unix:).*?/qmp", f"{scratch}/qmp", word) for word in words]
        more = ("blog_shell " if shell else "") + ("nokaslr" if gdb else "")
        if is_uml:
            words += more.split()
            # The signals of UML's CPUs (SIG34), timers and processes
            known = "handle SIGSEGV SIGUSR1 SIGIO SIGALRM SIG34 nostop noprint pass"
            quiet = "set print inferior-events off"
            words = ["gdb", "-ex", known, "-ex", quiet, "--args", *words] if gdb else words
        else:
            words[words.index("-append") + 1] += f" {more}"
            # Ctrl-C is for the guest; Ctrl-A X ends QEMU.
            words[words.index("-serial") + 1] = "mon:stdio"
            if gdb:
                words += ["-s", "-S"]
                image = Path(words[words.index("-kernel") + 1])
                print(f"gdb -ex 'target remote :1234' {image.parents[3] / 'vmlinux'}", flush=True)
        # Ctrl-C is for the guest or for gdb, which has the terminal, too.
        signal.signal(signal.SIGINT, lambda *_: None)
        try:
            for disk in disks:
                with open(disk, "wb") as file:
                    file.truncate(16 << 30)
            return subprocess.run(
                words, env=os.environ | {"TMPDIR": memory_folder()}, preexec_fn=_end_with_parent
            ).returncode
        finally:
            if out:
                _unpack(Path(disks[0]), out / "out")
            for disk in disks:
                Path(disk).unlink()


def prepare(
    folder: Path,
    kernel: Kernel,
    script: Path,
    files: Mapping[str, Path],
    programs: Mapping[str, Path],
    machine: Machine,
) -> None:
    """Makes such a folder, without a guest that has run."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = initrd(folder / "initrd", kernel.busybox, script, files, programs)
    command = machine.command(kernel, packed, [folder / "disk0"], folder / "qmp")
    (folder / "command").write_text(shlex.join(command) + "\n")


def _pairs(words: list[str]) -> dict[str, Path]:
    split = (word.partition("=") for word in words)
    return {path: Path(source) for source, _, path in split}


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Runs a script in a guest: busybox's sh on a kernel with BLog.",
        epilog="Exit status: the script's; 121 the kernel complained though the script was "
        "content; 122 no results; 124 killed by the time limit; 125 the guest ended without a "
        "word. Examples: tests/vm.py --kernel uml --cpus 1 my-script.sh; tests/vm.py --kernel uml --shell. "
        "Each guest leaves its command in its folder: tests/vm.py --again FOLDER runs it once more.",
    )
    add = parser.add_argument
    add("script", type=Path, nargs="?", help="becomes /run in the guest")
    add("--again", type=Path, metavar="FOLDER", help="run this folder's guest once more, here")
    add("--shell", action="store_true", help="a shell on this terminal in place of the script")
    add("--gdb", action="store_true", help="the kernel waits for gdb")
    add("--kernel", default="x86", metavar="FLAVOUR|BUILD", help="flavour, or a build directory")
    add("--out", type=Path, help="folder: console, and out/ for its /out")
    add("-f", dest="files", action="append", default=[], metavar="FILE=PATH")
    add("-x", dest="programs", action="append", default=[], metavar="FILE=PATH")
    add("--cpus", type=int, default=4)
    add("--mem", type=int, default=1024, metavar="MIB")
    add("--seconds", type=float, default=120, help="time limit")
    add("--args", default="", help="more for the kernel's command line")
    add("--icount", action="store_true", help="clocks count instructions; one CPU")
    add("--warn", action="store_true", help="let complaints of the kernel pass")
    args = parser.parse_args()
    if args.again:
        return again(args.again, shell=args.shell, gdb=args.gdb, out=args.out)
    here = args.shell or args.gdb
    if not (args.script or here):
        parser.error("which script? (or --shell)")
    chosen = args.kernel
    where = Kernel(Path(chosen).name, Path(chosen)) if "/" in chosen else kernel(chosen)
    machine = Machine(args.cpus, args.mem, args.args, icount=args.icount)
    files, programs, out = _pairs(args.files), _pairs(args.programs), (args.out or Path()).resolve()
    with contextlib.suppress(FileNotFoundError):
        files = where.files() | files
    if here:
        with tempfile.TemporaryDirectory(prefix="blog-") as scratch:
            script = args.script or INIT.with_name("lib.sh")
            prepare(Path(scratch), where, script, files, programs, machine)
            return again(Path(scratch), shell=args.shell, gdb=args.gdb, out=args.out)
    result = run(
        out, where, args.script, files=files, programs=programs, machine=machine,
        seconds=args.seconds, warn=args.warn, echo=lambda line: print(line, flush=True))  # fmt: skip
    if result.problem:
        print(f"guest: {result.told()}", file=sys.stderr)
    return result.status


if __name__ == "__main__":
    sys.exit(main())
