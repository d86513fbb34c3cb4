# SPDX-License-Identifier: GPL-2.0
"""What must be in the dump: from what the module said on the console before the crash.

The decoder never sees any of this.
"""

import re
from dataclasses import dataclass

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WRITER = re.compile(
    r"blog_crash: writer (\d+) context (\w+) cpu (-?\d+) pid (-?\d+)"
    r" comm (\S+) records (\d+)"
)
STEP = re.compile(r"blog_crash: step (\d+) published (\d+) at (\S+)")


@dataclass
class Writer:
    """Somebody whose last records are known."""

    id: int
    context: str
    cpu: int
    pid: int
    comm: str
    # Published for sure: the log calls have returned, or the module has looked.
    records: int
    # As blog-decode calls it: "blocked" or "running"; None: an interrupt.
    state: str | None

    def whole(self) -> bool:
        """Few enough that none may be missing."""
        return self.records < 100


@dataclass
class Truth:
    scene: str
    writers: list[Writer]
    # In the middle of a log call: after how many instructions, and where that is.
    step: int | None = None
    place: str = ""


def total(value: int) -> int:
    return value & 0xFFFFFFFF


def message(scene: str, writer: Writer, seq: int, before: int) -> str:
    """The text of a record, by blog/tests/crash/crash.rs. `before`: parameter records."""
    check = total(total((writer.id ^ 0x5BD1E995) * 0x9E3779B1) + total(seq * 0x85EBCA6B))
    return (
        f"w={writer.id} s={seq} c={check:#x} {event(scene, writer, seq, before)}"
        f" [{LETTERS[: seq % 27]}]"
    )


def event(scene: str, writer: Writer, seq: int, before: int) -> str:
    """What the record says, by scenes.c and step.c."""
    if scene == "abba" and writer.id == 2:
        return ("takes lock B", "has lock B", "takes lock A")[seq]
    if scene == "abba" and seq >= before:
        return ("takes lock A", "has lock A", "takes lock B")[seq - before]
    if scene == "blame":
        return "works" if seq < 3 else "waits"
    if scene == "lost":
        return "works" if seq < 40 else "waits"
    if scene == "softirq":
        return "works" if seq + 1 < before else "completes"
    if seq < before:
        return "works"
    return "spins" if scene == "lockup" else "completes"


def read(scene: str, text: str) -> Truth:
    """What the console says up to where the module was ready."""
    states = {"abba": "blocked", "lost": "blocked", "blame": "blocked"}
    writers = {}
    for m in WRITER.finditer(text):
        task = m[2] == "task"
        writers[int(m[1])] = Writer(
            int(m[1]),
            m[2],
            int(m[3]),
            int(m[4]),
            m[5],
            int(m[6]),
            states.get(scene, "running") if task else None,
        )
    truth = Truth(scene, list(writers.values()))
    for m in STEP.finditer(text):
        truth.step, truth.place = int(m[1]), m[3]
        # One more than has returned if the call was past its last store.
        writer = truth.writers[0]
        assert int(m[2]) in (writer.records, writer.records + 1), m[0]
        writer.records = int(m[2])
    return truth
