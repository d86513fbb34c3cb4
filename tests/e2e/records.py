# SPDX-License-Identifier: GPL-2.0
"""Reads what `blog-decode --json` prints into columns, one set for each ring.

A run has millions of records, so a record of the request path becomes three
integers: time, kind, and the request packed into one. Knows the JSON's keys and
rnull's messages; knows nothing of what should hold (see checks.py).
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

QUEUE, COMPLETE, OTHER = 0, 1, 2
# Losses of records that had been in their ring.
NOT_IN_SNAPSHOT = ("overwritten", "missing", "damaged")
Item = dict[str, Any]  # a line of JSON
OPS = ("Read", "Write", "Flush", "Discard", "WriteZeroes", "Other")


def pack(op: str, sector: int, size: int, tag: int) -> int:
    """A request as one integer of less than 64 bits."""
    return ((sector << 12 | size >> 9) << 3 | OPS.index(op)) << 10 | tag


def unpack(key: int) -> tuple[str, int, int, int]:
    """(op, sector, size, tag) of a packed request."""
    tag, key = key & 0x3FF, key >> 10
    op, key = OPS[key & 7], key >> 3
    return op, key >> 12, (key & 0xFFF) << 9, tag


@dataclass
class Ring:
    """What a snapshot says of one ring."""

    component: str
    ring: int
    ctx: str = "task"
    cpu: int | None = None
    pid: int | None = None
    comm: str = ""
    written: int = 0
    lost: dict[str, int] = field(default_factory=dict)  # never got into the ring, by cause
    decoded: int = 0  # is in the ring
    overwritten: int = 0  # was in the ring and isn't any more
    shown: int = 0  # `overwritten`, as shown among the records
    shown_lost: dict[str, int] = field(default_factory=dict)  # `lost`, as shown among the records
    ns: array[int] = field(default_factory=lambda: array("q"))
    kind: array[int] = field(default_factory=lambda: array("B"))
    key: array[int] = field(default_factory=lambda: array("Q"))
    other: list[str] = field(default_factory=list)  # messages of the records of kind OTHER
    softirqs: Counter[int] = field(default_factory=Counter)  # in a shared ring: records by CPU

    @property
    def name(self) -> str:
        """For messages."""
        where = f"{self.comm}[{self.pid}]" if self.ctx == "task" else f"cpu {self.cpu}"
        return f"ring {self.component}/{self.ring} ({self.ctx} {where})"

    def add(self, ns: int, kind: int, key: int) -> None:
        """Takes one record."""
        self.ns.append(ns)
        self.kind.append(kind)
        self.key.append(key)


@dataclass
class Log:
    """A decoded snapshot."""

    rings: dict[tuple[str, int], Ring] = field(default_factory=dict)
    gone: int = 0  # records of rings that were given to another task
    lost: dict[str, int] = field(default_factory=dict)  # losses that belong to no ring
    undecoded: int = 0  # records that the decoder couldn't make sense of
    contradictions: list[str] = field(default_factory=list)  # as blog-decode check reports

    def ring(self, component: str, number: int) -> Ring:
        """The ring with this number, made when first seen."""
        return self.rings.setdefault((component, number), Ring(component, number))


def _request(item: Item) -> int:
    """The request that a record of the request path is about, packed."""
    args = {arg["name"]: arg.get("value", arg.get("text")) for arg in item["args"]}
    op = args["op"] if args["op"] in OPS else "Other"
    return pack(op, args["sector"], args["bytes"], args["tag"])


def _record(ring: Ring, item: Item) -> None:
    """Takes a record into its ring."""
    form = item["format"] or ""
    if form.startswith("queue "):
        ring.add(item["mono_ns"], QUEUE, _request(item))
    elif form.startswith("complete "):
        ring.add(item["mono_ns"], COMPLETE, _request(item))
    else:
        ring.add(item["mono_ns"], OTHER, 0)
        ring.other.append(item["message"])
    if "shared" in item and item["context"] == "softirq":
        ring.softirqs[item["cpu"]] += 1


def _take(log: Log, item: Item) -> None:
    """Takes one JSON object into the log."""
    what = item["type"]
    if what == "summary":
        log.undecoded = item["undecoded"]
        return
    if what == "ringless":
        log.gone += item["gone"]
        for cause, count in item["lost"].items():
            log.lost[cause] = log.lost.get(cause, 0) + count
        return
    ring = log.ring(item["component"], item["ring"])
    if what == "record":
        _record(ring, item)
    elif what == "lost" and item["cause"] in NOT_IN_SNAPSHOT:
        ring.shown += item["count"]
    elif what == "lost":
        cause = item["cause"]
        ring.shown_lost[cause] = ring.shown_lost.get(cause, 0) + item["count"]
    elif what == "ring":
        ring.ctx, ring.cpu, ring.pid = item["context"], item["cpu"], item["pid"]
        if "shared" in item:
            ring.ctx, ring.cpu = "shared", item["shared"]
        ring.comm, ring.written, ring.lost = item["comm"] or "", item["taken"], item["lost"]
        ring.decoded, ring.overwritten = item["decoded"], item["overwritten"] + item["missing"]


def read(lines: Iterable[str], component: str = "rnull") -> Log:
    """Reads JSON lines; keeps what is of the component or of none."""
    log = Log()
    for line in lines:
        item = json.loads(line)
        if item.get("component", component) == component:
            _take(log, item)
    return log
