# SPDX-License-Identifier: GPL-2.0
"""An idle machine stays idle: no CPU is woken for BLog. And a log call that takes the slow path
allocates, wakes and waits for nothing, by the kernel's own trace."""

import re
from collections import Counter
from pathlib import Path

import vm
from conftest import TOP, Tap

KERNELS = "x86"
TESTS = 7
SECONDS = 120


STARTED = re.compile(r"(h?r?timer_start): (.*)\n.*<stack trace>\n((?: => .*\n)+)")


def test_idle(work: Path, tap: Tap) -> None:
    """Timers that BLog starts are deferrable: no idle CPU is woken for them."""
    kernel, script = vm.kernel("x86"), TOP / "tests/e2e/guest/quiet.sh"
    machine = vm.Machine(2)
    result = vm.run(
        work / "idle", kernel, script, files=kernel.files(), machine=machine, seconds=300
    )
    tap(result.lines())
    assert not result.problem, result.told()
    started = STARTED.findall((result.out / "trace").read_text())
    # What has interrupted BLog is not BLog.
    own = [(event, what) for event, what, stack in started if "blog_" in stack.split("=> asm_")[0]]
    assert own, "BLog has started no timer"
    for event, what in own:
        assert event == "timer_start" and re.search(r"flags=(\w\|)*D", what), what


LOG_CALL = re.compile("blog_reserve|blog_record")


def stacks(trace: str) -> list[list[str]]:
    """The stack of each event that the kernel has traced, innermost first: the event's name."""
    parts = trace.split("<stack trace>\n")[1:]
    return [re.findall(r"^ => (\S+)", part, re.MULTILINE) for part in parts]


def own(stack: list[str]) -> str:
    """The part of a stack that is no interrupted code."""
    for place, name in enumerate(stack):
        if name.startswith(("asm_sysvec_", "asm_common_interrupt", "asm_exc_nmi")):
            return "\n".join(stack[:place])
    return "\n".join(stack)


def total(stats: Path, prefix: str) -> int:
    """The sum of counters."""
    return sum(map(int, re.findall(rf"^{prefix}\w* (\d+)$", stats.read_text(), re.MULTILINE)))


def test_slow_path(work: Path) -> None:
    """While pages turn and tasks log for the first time, in tasks, softirqs and interrupts, no
    log call allocates, wakes, sleeps, starts a timer or work, or waits for a lock."""
    kernel, script = vm.kernel("x86"), TOP / "tests/e2e/guest/slowpath.sh"
    result = vm.run(work / "slow", kernel, script, files=kernel.files(), seconds=300)
    assert not result.problem, result.told()
    trace = (result.out / "trace").read_text()
    written = re.search(r"entries-written: (\d+)/(\d+) ", trace)
    assert written and written[1] == written[2], "the trace has lost events"

    # What can be seen: how a component takes its memory, and log calls that were interrupted.
    seen = stacks(trace)
    taken = Counter(stack[0] for stack in seen if "blog_pages_alloc" in stack)
    assert taken["trace_event_raw_event_mm_page_alloc"], taken
    waking = [stack for stack in seen if stack[0] == "trace_event_raw_event_sched_wakeup_template"]
    assert any("blog_reserve" in stack for stack in waking)
    # What was exercised: pages that rings have taken, and records of short-lived tasks.
    assert total(result.out / "stats", "from_") > 100
    assert total(result.out / "storm", "records") > 10

    assert not [stack for stack in seen if LOG_CALL.search(own(stack))]
