# SPDX-License-Identifier: GPL-2.0
"""Reads what `blog-decode --json` prints into columns, one set for each ring.

A run has millions of records, so a record of the request path becomes three
integers: time, kind, and the request packed into one. Knows the JSON's keys and
rnull's messages; knows nothing of what should hold (see checks.py).
"""

import json
from array import array
from dataclasses import dataclass, field

QUEUE, COMPLETE, OTHER = 0, 1, 2
OPS = ("Read", "Write", "Flush", "Discard", "WriteZeroes", "Other")


def pack(op, sector, size, tag):
    """A request as one integer of less than 64 bits."""
    return ((sector << 12 | size >> 9) << 3 | OPS.index(op)) << 10 | tag


def unpack(key):
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
    lost: dict = field(default_factory=dict)  # never got into the ring, by cause
    overwritten: int = 0  # was in the ring, told by the decoder where it was
    ns: array = field(default_factory=lambda: array("q"))
    kind: array = field(default_factory=lambda: array("B"))
    key: array = field(default_factory=lambda: array("Q"))
    other: list = field(default_factory=list)  # messages of the records of kind OTHER

    @property
    def name(self):
        """For messages."""
        where = f"cpu {self.cpu}" if self.ctx != "task" else f"{self.comm}[{self.pid}]"
        return f"ring {self.component}/{self.ring} ({self.ctx} {where})"

    def add(self, ns, kind, key):
        """Takes one record."""
        self.ns.append(ns)
        self.kind.append(kind)
        self.key.append(key)


@dataclass
class Log:
    """A decoded snapshot."""

    rings: dict = field(default_factory=dict)
    gone: int = 0  # records of rings that were given to another task
    lost: dict = field(default_factory=dict)  # losses that belong to no ring
    undecoded: list = field(default_factory=list)  # what the decoder couldn't make sense of
    damage: list = field(default_factory=list)

    def ring(self, component, number):
        """The ring with this number, made when first seen."""
        return self.rings.setdefault((component, number), Ring(component, number))

    def of_kind(self, kind):
        """How many records of a kind there are."""
        return sum(ring.kind.count(kind) for ring in self.rings.values())


def _request(args):
    """(op, packed request) of a record of the request path."""
    op = args["op"]
    if not isinstance(op, str):
        op = "Other"
    return pack(op if op in OPS else "Other", args["sector"], args["bytes"], args["tag"])


def _take(log, item):
    """Takes one JSON object into the log."""
    what = item["type"]
    if what == "record":
        ring = log.ring(item["component"], item["ring"])
        fmt = item["fmt"]
        if fmt.startswith("queue "):
            ring.add(item["ns"], QUEUE, _request(item["args"]))
        elif fmt.startswith("complete "):
            ring.add(item["ns"], COMPLETE, _request(item["args"]))
        else:
            ring.add(item["ns"], OTHER, 0)
            ring.other.append(item["msg"])
    elif what == "loss":
        if item["cause"] == "overwritten":
            log.ring(item["component"], item["ring"]).overwritten += item["count"]
    elif what == "ring":
        ring = log.ring(item["component"], item["ring"])
        ring.ctx, ring.cpu, ring.pid = item["ctx"], item.get("cpu"), item.get("pid")
        ring.comm, ring.written = item.get("comm", ""), item["written"]
        ring.lost = item["lost"]
    elif what == "component":
        log.gone += item["gone"]
        for cause, count in item["lost"].items():
            log.lost[cause] = log.lost.get(cause, 0) + count
    elif what == "undecoded":
        log.undecoded.append(item)
    elif what == "damage":
        log.damage.append(item)


def read(lines, component="rnull"):
    """Reads JSON lines; keeps what is of the component or of none."""
    log = Log()
    for line in lines:
        item = json.loads(line)
        if item.get("component", component) == component:
            _take(log, item)
    return log
