# SPDX-License-Identifier: GPL-2.0
"""The guest runner detects every kind of failure.

A kernel that complains, in whichever words and at whichever level, one that dies, one
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

SECONDS = 12

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


# Real messages of kernels
COMPLAINTS = """\
BUG: KASAN: slab-use-after-free in blog_reserve+0x10/0x20 [blog]
BUG: sleeping function called from invalid context at mm/slab.c:1
BUG: scheduling while atomic: fio/70/0x00000002
BUG: using smp_processor_id() in preemptible [00000000] code: sh/1
BUG: spinlock bad magic on CPU#0, swapper/0/1
BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 31s!
BUG: unable to handle page fault for address: ffffffffc0000000
BUG kmalloc-64 (Not tainted): Right Redzone overwritten
WARNING: kernel/sched/core.c:1 at f+0x1/0x2, CPU#0: sh/1
WARNING: possible circular locking dependency detected
WARNING: suspicious RCU usage
WARNING: inconsistent lock state
[ BUG: Invalid wait context ]
INFO: trying to register non-static key.
INFO: task fio:70 blocked for more than 60 seconds.
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [fio:70]
ODEBUG: free active (active state 0) object: 0000000000000000
kernel BUG at lib/list_debug.c:1!
list_del corruption. prev->next should be
refcount_t: underflow; use-after-free.
UBSAN: array-index-out-of-bounds in blog/sys/hook.c:1:2
rust_kernel: panicked at blog/memory/pool/mod.rs:1:2:
kmemleak: 1 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
fio: page allocation failure: order:0, mode:0xcc0(GFP_KERNEL)
traps: fio[70] general protection fault ip:1 sp:2 error:0
blog_torture: unknown parameter 'onof_ms' ignored
Kernel panic - not syncing: Attempted to kill init!""".splitlines()
INNOCENT = """\
kmemleak: Kernel memory leak detector initialized (mem pool available: 14000)
kasan: KernelAddressSanitizer initialized (generic)
Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
NMI backtrace for cpu 1
Call Trace:
sysrq: Show backtrace of all active CPUs
rcu: RCU lockdep checking is enabled.
page_owner is enabled""".splitlines()


def test_complaints() -> None:
    for line in COMPLAINTS:
        assert vm.COMPLAINTS.search(f"[    1.000000] {line}"), line
    for line in INNOCENT:
        assert not vm.COMPLAINTS.search(line), line


@pytest.mark.kernels("uml")
def test_again_with_a_shell(work: Path) -> None:
    """A guest leaves its command, which runs again; its script waits for who is at the terminal."""
    (work / "run").write_text("#!/bin/sh\necho guest: it runs\nexit 7\n")
    vm.run(work, vm.kernel("uml"), work / "run", machine=vm.Machine(cpus=1, mem=256))
    assert "blog-guest: exit 7" in once_more(work)
    said = once_more(work, "--shell", typed="echo sum=$((40 + 2)); /run\nexit\n")
    assert "sum=42" in said and "blog-guest: exit 7" in said, said


def once_more(folder: Path, *options: str, typed: str = "") -> str:
    """The output of a guest that runs again. Keys are typed ahead: the prompt is the shell's own."""
    again = [sys.executable, vm.__file__, "--again", str(folder), *options]
    with subprocess.Popen(
        again, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as guest:
        assert guest.stdin and guest.stdout
        late = threading.Timer(60, os.killpg, (guest.pid, signal.SIGKILL))
        late.start()
        guest.stdin.write(typed)
        guest.stdin.flush()
        said: str = guest.stdout.read()
        late.cancel()
    assert "guest: it runs" in said, f"the script did not run in 60 s: {said}"
    return said
