# SPDX-License-Identifier: GPL-2.0
"""The guest runner detects every kind of failure.

A kernel that complains at whichever level, one that dies, one
that hangs, and a test that fails.
"""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import vm

ENDS: dict[str, tuple[str, int, dict[str, int]]] = {
    "a guest that is content": ('echo "<4>all is well" >/dev/kmsg', 0, {}),
    "a test that fails": ("exit 7", 7, {}),
    "a complaint that is only in the kernel's log": (
        'echo "<4>WARNING: planted at here" >/dev/kmsg', vm.COMPLAINED, {}),
    "a complaint at the level of news": (
        'echo "<6>kmemleak: 2 new suspected memory leaks" >/dev/kmsg', vm.COMPLAINED, {}),
    "a complaint that may pass": (
        'echo "<4>WARNING: planted at here" >/dev/kmsg', 0, {"warn": 1}),
    "a guest that ends without a word": ("poweroff -f", vm.NO_WORD, {}),
    "a guest that hangs": ("sleep 30", vm.TIMEOUT, {"seconds": 3}),
}  # fmt: skip


@pytest.mark.kernels("uml")
@pytest.mark.parametrize("name", ENDS)
def test_verdict(work: Path, name: str) -> None:
    script, status, options = ENDS[name]
    (work / "run").write_text(f"#!/bin/sh\n{script}\n")
    machine = vm.Machine(cpus=1, mem=256)
    seconds, warn = options.get("seconds", 20), "warn" in options
    result = vm.run(
        work, vm.kernel("uml"), work / "run", machine=machine, seconds=seconds, warn=warn
    )
    assert result.status == status, result.told()
    assert bool(result.problem) == bool(status)


@pytest.mark.kernels("uml")
def test_again_with_a_shell(work: Path) -> None:
    """A guest leaves its command, which runs again; its script waits for who is at the terminal."""
    (work / "run").write_text("#!/bin/sh\necho guest: it runs\nexit 7\n")
    vm.run(work, vm.kernel("uml"), work / "run", machine=vm.Machine(cpus=1, mem=256))
    assert "guest: it runs" in (said := on_terminal("--again", work)), said
    assert "blog-guest: exit 7" in said
    said = on_terminal("--again", work, "--shell", typed="echo sum=$((40 + 2)); /run\nexit\n")
    assert "sum=42" in said and "guest: it runs" in said and "blog-guest: exit 7" in said, said


@pytest.mark.kernels("uml")
def test_a_shell_without_a_failure_first(work: Path) -> None:
    """It has the kernel's modules, and what scripts share; what it leaves in /out is kept."""
    typed = ". /lib.sh; blog_on; echo on=$(cat $RNULL/enable); echo 42 > /out/sum\nexit\n"
    said = on_terminal("--kernel", "uml", "--mem", "256", "--shell", "--out", work, typed=typed)
    assert "on=1" in said and "blog-guest: exit 0" in said, said
    assert (work / "out/sum").read_text() == "42\n"


def on_terminal(*options: object, typed: str = "") -> str:
    """The output of vm.py as a program. Keys are typed ahead: the prompt is the shell's own."""
    command = [sys.executable, vm.__file__, *map(str, options)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as guest:
        assert guest.stdin and guest.stdout
        late = threading.Timer(120, os.killpg, (guest.pid, signal.SIGKILL))
        late.start()
        guest.stdin.write(typed)
        guest.stdin.flush()
        said: str = guest.stdout.read()
        late.cancel()
    return said
