# SPDX-License-Identifier: GPL-2.0
"""A QEMU guest that is expected to crash: its console, NMIs, and dumps of its memory.

scripts/guest/qemu is for guests that end by themselves and say how; here, the runner
waits for what the console says, and acts over QMP.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path


STALE = Path(__file__).resolve().parents[2] / "scripts/guest/stale"


def tally(what: str) -> None:
    """Tells the runner of all suites of a boot, or a repeat."""
    if path := os.environ.get("BLOG_TALLY"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(what + "\n")


class Ended(Exception):
    """The guest ended, or said nothing for too long, before it said what it should."""


class Guest:
    """One QEMU process. Files are in the folder `work`."""

    def __init__(self, work: Path, kernel: Path, initrd: Path, args: str, *, mem: int, cpu: str,
                 smp: int = 2, vmcore: bool = False) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.console = work / "console"
        self.results = work / "results"  # the crash kernel's /out
        self.vmcore = work / "disk"
        # A socket's path must be short.
        self.scratch = Path(tempfile.mkdtemp(prefix="blog-crash-"))
        sock = self.scratch / "qmp"
        disks = [self.results] + ([self.vmcore] if vmcore else [])
        command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi",
                   "-cpu", cpu, "-smp", str(smp), "-m", str(mem), "-nodefaults",
                   "-display", "none", "-serial", "stdio", "-no-reboot",
                   "-device", "vmcoreinfo", "-qmp", f"unix:{sock},server=on,wait=off",
                   "-kernel", str(kernel), "-initrd", str(initrd),
                   "-append", f"console=ttyS0 quiet tsc=reliable {args}"]
        for number, disk in enumerate(disks):
            with disk.open("wb") as file:
                file.truncate((mem + 1024) << 20)
            command += ["-drive", f"file={disk},format=raw,if=none,id=d{number},cache=unsafe",
                        "-device", f"virtio-blk-pci,drive=d{number}"]
        tally(f"boot {self.console}")
        self.seen = 0  # characters of the console that were looked at
        with self.console.open("wb") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.STDOUT)
        self.stream = None
        self.socket = sock

    def stale(self) -> str:
        """Why it may be booted again, now that it has ended; or nothing."""
        done = subprocess.run([STALE, self.console], stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def text(self) -> str:
        return self.console.read_text(errors="replace").replace("\r", "")

    def wait(self, pattern: str, seconds: float) -> re.Match:
        """Waits for the console to match, behind what matched before."""
        end = time.monotonic() + seconds
        while True:
            alive = self.process.poll() is None
            text = self.text()
            match = re.compile(pattern, re.M).search(text, self.seen)
            if match:
                self.seen = match.end()
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
        if self.stream is None:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(300)
            connection.connect(str(self.socket))
            self.stream = connection.makefile("rw")
            self.stream.readline()
            self.qmp("qmp_capabilities")
        json.dump({"execute": command, "arguments": arguments}, self.stream)
        self.stream.write("\n")
        self.stream.flush()
        # Events may come before the answer.
        while line := self.stream.readline():
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
        # QEMU appends to what is there.
        path.unlink(missing_ok=True)
        self.qmp("dump-guest-memory", paging=False, protocol=f"file:{path}", format=form)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)
