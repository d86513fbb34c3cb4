# SPDX-License-Identifier: GPL-2.0
"""An idle machine stays idle: BLog wakes no CPU. And by the kernel's own trace, a log call on the
slow path allocates no memory, wakes no task, and doesn't wait."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import vm
from conftest import TOP, Tap, by_kernel

FLAVOURS = pytest.mark.parametrize("flavour", by_kernel("stock", "x86"))

EVENT = re.compile(
    r"-(\d+) +\[\d+\] ..(.)\S* +[\d.]+: (\w+): (.*)\n.*<stack trace>\n((?: => .*\n)+)"
)


def own_timers(trace: str) -> Iterator[tuple[str, str]]:
    """The timers that BLog's own code or works start. What has interrupted these is not BLog, and a
    function's last call leaves nothing of it on the stack."""
    works = set()
    for pid, context, event, what, stack in EVENT.findall(trace):
        if event == "workqueue_execute_start" and "function blog_" in what:
            works.add(pid)
        elif event == "workqueue_execute_end":
            works.discard(pid)
        elif "timer" in event and ((context == "." and pid in works) or "blog_" in own(stack)):
            yield event, what


@FLAVOURS
def test_idle(flavour: str, work: Path, tap: Tap) -> None:
    """BLog's timers are deferrable: they wake no idle CPU."""
    kernel, script = vm.kernel(flavour), TOP / "tests/guest/e2e/quiet.sh"
    machine = vm.Machine(2)
    result = vm.run(
        work / f"idle-{flavour}", kernel, script, files=kernel.files(), machine=machine, seconds=300
    )
    tap(result.lines())
    assert not result.problem, result.told()
    started = list(own_timers((result.out / "trace").read_text()))
    assert started, "BLog has started no timer"
    for event, what in started:
        assert event == "timer_start" and re.search(r"flags=(\w\|)*D", what), what


LOG_CALL = re.compile("blog_reserve|blog_record")
# On Debian's kernel, the function in C is part of the one in Rust.
TAKES_MEMORY = re.compile(r"=> blog_pages_alloc\n|Owned8of_pages\n")


def own(stack: str) -> str:
    """The part of a stack without interrupted code."""
    return re.split(r"=> asm_(?:sysvec_|common_interrupt|exc_nmi)", stack)[0]


def total(stats: Path, prefix: str) -> int:
    """The sum of counters."""
    return sum(map(int, re.findall(rf"^{prefix}\w* (\d+)$", stats.read_text(), re.MULTILINE)))


@FLAVOURS
def test_slow_path(flavour: str, work: Path) -> None:
    """While pages turn and tasks log for the first time, in tasks, softirqs and interrupts, no
    log call allocates, wakes, sleeps, starts a timer or work, or waits for a lock."""
    kernel, script = vm.kernel(flavour), TOP / "tests/guest/e2e/slowpath.sh"
    result = vm.run(work / f"slow-{flavour}", kernel, script, files=kernel.files(), seconds=300)
    assert not result.problem, result.told()
    trace = (result.out / "trace").read_text()
    written = re.search(r"entries-written: (\d+)/(\d+) ", trace)
    assert written and written[1] == written[2], "the trace has lost events"

    # What can be seen: how a component takes its memory, and log calls that were interrupted.
    seen = re.findall(r"<stack trace>\n((?: => .*\n)+)", trace)
    taken = [stack for stack in seen if TAKES_MEMORY.search(stack)]
    assert any("event_mm_page_alloc\n" in stack for stack in taken)
    waking = [stack for stack in seen if "event_sched_wakeup_template\n" in stack]
    assert any("=> blog_reserve\n" in stack for stack in waking)
    # What was exercised: pages that rings have taken, and records of short-lived tasks.
    assert total(result.out / "stats", "from_") > 100
    assert total(result.out / "storm", "records") > 10

    assert not [stack for stack in seen if LOG_CALL.search(own(stack))]
