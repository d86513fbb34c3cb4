# SPDX-License-Identifier: GPL-2.0
"""C formats: a kernel's records decode to the text that its snprintf() prints for the same
arguments. blog/parts/ccall/tests/c_printf.c has the cases: each is a record, and its text in the next one.
Records of debug messages, in c_capture.c there, decode to dynamic debug's text."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import vm
from conftest import TOP, Run

pytestmark = pytest.mark.kernels("uml")


@pytest.fixture(scope="module")
def ran(work: Path) -> vm.Result:
    """A kernel that has logged all cases, and has printed its debug messages."""
    args = (
        'kunit.enable=1 kunit.autorun=1 kunit.filter_glob=blog_api_c* dyndbg="file c_capture.c +p"'
    )
    result = vm.run(work, vm.kernel("uml"), TOP / "tests/guest/e2e/printf.sh",
                    machine=vm.Machine(args=args))  # fmt: skip
    assert not result.problem, result.told()
    return result


def records(ran: vm.Result, name: str, decoder: Path, sh: Run) -> list[dict[str, Any]]:
    said = sh(decoder, "--sidetable", vm.kernel("uml").build / "vmlinux", "--modules", "/nowhere",
              "--json", ran.out / name)  # fmt: skip
    return [json.loads(line) for line in said.splitlines()]


def test_records_decode_to_what_the_kernel_prints(ran: vm.Result, decoder: Path, sh: Run) -> None:
    found = records(ran, "printf.snap", decoder, sh)
    pairs = list(zip(found[::2], found[1::2], strict=True))
    differ = [
        f"{case['file']}:{case['line']} {case['format']!r}: {case['message']!r}, not {text!r}"
        for case, printed in pairs
        if case["message"] != (text := printed["message"].removeprefix("= "))
    ]
    assert len(pairs) > 2000 and not differ, "\n".join(differ[:20])


def test_records_have_nothing_that_is_not_printed(ran: vm.Result) -> None:
    """No name of a resource, and no bytes that were on the stack: see print_parts()."""
    data = (ran.out / "printf.snap").read_bytes()
    assert b"\x5e" * 6 not in data


def test_debug_messages_decode_to_what_is_printed(ran: vm.Result, decoder: Path, sh: Run) -> None:
    """All that is printed but for what can't be stored; also what was evaluated for both."""

    def text(message: str) -> str:
        """Without a time."""
        return re.sub(r"^\[ *\d+\.\d+\] ", "", message).lstrip()

    said = records(ran, "capture.snap", decoder, sh)
    recorded = Counter(text(r["message"]) for r in said)
    lines = (ran.out / "printf.dmesg").read_text().splitlines()
    ours = re.compile(r"captured0?: |\(NULL device \*\): ")
    printed = Counter(text(line) for line in lines if ours.search(line))
    assert printed - recorded == Counter(("captured: 1", "captured0: no literal"))
    # The limit of the rate is that of printing.
    more = [line for line in recorded - printed if ours.search(line)]
    assert more and all(": limited " in line for line in more), more
    assert {
        "captured: no arguments",
        "captured: -1 of text, -EIO,     l|",
        "captured0: reset by 7",
        "(NULL device *): gone",
        "captured: evaluated 1",
        "captured: array, literal, -1, 17, 61 62, 127.0.0.1",
        "captured: " + "".join(map(str, range(1, 32))),
    } < set(printed)
    (reset,) = (r for r in said if text(r["message"]) == "captured0: reset by 7")
    assert (reset["level"], reset["component"]) == ("debug", "blog_api_kunit")
    assert reset["file"].endswith("c_capture.c")
    assert [a.get("value", a.get("text")) for a in reset["args"]] == ["captured0", 7]
