# SPDX-License-Identifier: GPL-2.0
"""A call with two scalars stays short, counted in the disassembly of samples/rust/rust_blog.rs.

The record is written by one function that calls no other, by few instructions, on little
stack, and there is a patched no-op in front while the component is off. What is counted is
the shortest way through the function to the call of the one that writes the record, and in
there the shortest that reads the TSC and reaches the end without a call: the path of a
record that has a ring with room. Prologue and epilogue are not counted.
"""

import re
import subprocess
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import vm

KERNELS = "x86"
TESTS = 4

# With what two_scalars() itself reckons
MOST, STACK = 57, 24

FRAME = ("push", "pop", "ret", "endbr64")


@dataclass
class Insn:
    address: int
    mnemonic: str
    operands: str
    callee: str = ""  # another function, called or jumped to

    @property
    def transfers(self) -> bool:
        return self.mnemonic == "call" or self.mnemonic.startswith("j")

    @property
    def target(self) -> re.Match[str] | None:
        """Where a call or a jump goes: address and function."""
        return re.match(r"([0-9a-f]+) <([^+>]+)", self.operands) if self.transfers else None


Goal = Callable[[Insn], bool]


def objdump(*args: str | Path) -> str:
    return subprocess.run(["objdump", *args], check=True, capture_output=True, text=True).stdout


class Object:
    """A module's functions: for each name, its section and its instructions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.functions: dict[str, tuple[str, list[Insn]]] = {}
        section, name = "", ""
        insns: list[Insn] = []
        for line in objdump("-dr", "--no-show-raw-insn", path).splitlines():
            if line.startswith("Disassembly of section "):
                section = line.split()[-1].rstrip(":")
            elif found := re.match(r"[0-9a-f]+ <(.+)>:$", line):
                name, insns = found[1], []
                self.functions[name] = section, insns
            elif found := re.match(r" *([0-9a-f]+):\t([^\t#]*)", line):
                mnemonic, _, operands = found[2].strip().partition(" ")
                insns.append(Insn(int(found[1], 16), mnemonic, operands.strip()))
                if (target := insns[-1].target) and target[2] != name:
                    insns[-1].callee = target[2]
            elif found := re.match(r"\s+[0-9a-f]+: R_X86_64_(?:PLT|PC)32\s+(.+)-0x4$", line):
                insns[-1].callee = found[1] if insns[-1].transfers else ""

    def find(self, name: str) -> tuple[str, list[Insn]]:
        return next(what for full, what in self.functions.items() if name in full)

    def branches(self, section: str) -> dict[int, int]:
        """Static branches: address of a no-op, and where it jumps when the component is on."""
        table = objdump("-r", "-j", "__jump_table", self.path)
        relocation = r"^\S+ +R_X86_64_PC32 +(.+?)(?:\+0x([0-9a-f]+))?$"
        places = [
            (found[1], int(found[2] or "0", 16))
            for found in re.finditer(relocation, table, re.MULTILINE)
        ]
        # Each entry has a third one, of another type: the key.
        pairs = zip(places[::2], places[1::2], strict=True)
        return {nop: to for (where, nop), (_, to) in pairs if where == section}


def shortest(insns: list[Insn], branches: dict[int, int], start: int, goal: Goal) -> list[int]:
    """The shortest way from there to the goal: a search in breadth."""
    places = {insn.address: i for i, insn in enumerate(insns)}
    came = {start: -1}
    queue = deque([start])
    while queue:
        i = queue.popleft()
        insn = insns[i]
        if goal(insn):
            path = []
            while i >= 0:
                path.append(i)
                i = came[i]
            return path[::-1]
        following: list[int | None] = []
        if insn.address in branches:
            following = [places.get(branches[insn.address])]
        elif insn.mnemonic != "call":  # that is the slow path
            if insn.target and not insn.callee:
                following = [places.get(int(insn.target[1], 16))]
            if insn.mnemonic not in ("jmp", "ret") and i + 1 < len(insns):
                following.append(i + 1)
        for j in following:
            if j is not None and j not in came:
                came[j] = i
                queue.append(j)
    raise AssertionError(f"no way without a call from {insns[start]}")


def way(insns: list[Insn], branches: dict[int, int], *goals: Goal, start: int = 0) -> list[Insn]:
    """The instructions from one of them by way of each goal."""
    taken: list[int] = []
    for goal in goals:
        taken += shortest(insns, branches, taken[-1] + 1 if taken else start, goal)
    return [insns[i] for i in taken]


def is_return(insn: Insn) -> bool:
    return insn.mnemonic == "ret"


@cache
def measure() -> tuple[list[Insn], int, bool]:
    """The path of a record, bytes of stack of the function with the call, and whether it
    is off by a no-op."""
    sample = Object(vm.kernel("x86").build / "samples/rust/rust_blog.ko")
    section, insns = sample.find("two_scalars")
    branches = sample.branches(section)
    taken = way(insns, branches, lambda insn: "11blog_record" in insn.callee)
    call = taken[-1]
    record = sample.find(call.callee)[1]
    taken += way(record, {}, lambda insn: insn.mnemonic == "rdtsc", is_return)
    if call.mnemonic == "call":
        after = insns.index(call) + 1
        taken += way(
            insns, branches,
            lambda insn: is_return(insn) or insn.mnemonic == "jmp" and bool(insn.callee),
            start=after)  # fmt: skip
    pushed = {insn.operands for insn in insns if insn.mnemonic == "push"}
    subs = [
        int(found[1], 16)
        for insn in insns
        if insn.mnemonic == "sub" and (found := re.match(r"\$(0x[0-9a-f]+),%rsp$", insn.operands))
    ]
    return taken, 8 * len(pushed) + max(subs, default=0), bool(branches)


def test_the_fast_path_needs_one_call() -> None:
    assert measure()[0]


def test_two_scalars_take_few_instructions() -> None:
    counted = [insn for insn in measure()[0] if insn.mnemonic not in FRAME]
    listing = "\n".join(f"{i.address:6x}: {i.mnemonic} {i.operands}" for i in counted)
    assert len(counted) <= MOST, listing


def test_a_function_with_a_call_takes_little_stack() -> None:
    assert measure()[1] <= STACK


def test_a_component_that_is_off_costs_a_no_op() -> None:
    assert measure()[2], "a load and a test"
