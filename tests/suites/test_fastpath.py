# SPDX-License-Identifier: GPL-2.0
"""A call with two scalars stays short, by the disassembly of samples/rust/rust_blog.rs: its
record is written by one function that calls nothing but the slow path, on little stack.

How many instructions that takes, and that a component that is off costs one, the suite
"bench" counts as they run.
"""

import re
import subprocess
from functools import cache

import pytest
import vm

pytestmark = pytest.mark.kernels("x86")

# With the arithmetic of two_scalars() itself
STACK = 24


@cache
def functions() -> dict[str, str]:
    """The sample's, disassembled."""
    sample = vm.kernel("x86").build / "samples/rust/rust_blog.ko"
    said = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", sample], check=True,
                          stdout=subprocess.PIPE, text=True).stdout  # fmt: skip
    parts = re.split(r"^[0-9a-f]+ <(.+)>:\n", said, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def find(name: str) -> tuple[str, str]:
    return next((full, text) for full, text in functions().items() if name in full)


def callees(name: str) -> list[str]:
    """Functions that it calls or jumps to: by a relocation, or in the same section."""
    full, text = find(name)
    form = r"\t(?:call|j\w+) +(?:[0-9a-f]+ <([^+>]+).*|\S+)(?:\n\s+[0-9a-f]+: R_X86_64_P\w+\s+(.+)-0x4)?"
    found = [there or here for here, there in re.findall(form, text)]
    return [one for one in found if one != full]


def test_the_fast_path_needs_one_call() -> None:
    (record,) = callees("two_scalars")
    assert "11blog_record" in record
    assert ["16blog_record_slow" in slow for slow in callees(record)] == [True]


def test_a_function_with_a_call_takes_little_stack() -> None:
    text = find("two_scalars")[1]
    pushed = set(re.findall(r"\tpush +(\S+)", text))
    subs = [int(size, 16) for size in re.findall(r"\tsub +\$(0x[0-9a-f]+),%rsp", text)]
    assert 8 * len(pushed) + max(subs, default=0) <= STACK
