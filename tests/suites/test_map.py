# SPDX-License-Identifier: GPL-2.0
"""A component's memory, mapped by a process: who may, and that nobody can harm or be harmed; and the
records in it are those of the stream, each once."""

import re
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import selftests
import vm
from conftest import Tap, built, for_guest

pytestmark = pytest.mark.kernels("uml")

Ring = tuple[int, int]  # its id, and the thread id of its owner
Records = dict[tuple[Ring, int], bytes]


@pytest.fixture(scope="module")
def guest(work: Path) -> vm.Result:
    """A guest in which memory is mapped; it leaves copies."""
    programs = for_guest(built("examples/mapcopy"), work / "mapcopy")
    return selftests.guest(work / "map", vm.kernel("uml"), "map", programs=programs,
                           machine=vm.Machine(2, 512))  # fmt: skip


def test_guest(guest: vm.Result, tap: Tap) -> None:
    tap(guest.lines())
    assert not guest.problem, guest.told()


def records(page: bytes) -> Iterator[bytes]:
    """The records of a page, but for control records."""
    (commit,) = struct.unpack_from("<Q", page, 40)
    at, end = 48, commit & 0xFFFFFFFF
    while at < end:
        (header,) = struct.unpack_from("<Q", page, at)
        size = 8 + (header & 1023)
        if header >> 10 & 0x3FFFF:
            yield page[at : at + size]
        at += size
    assert at == end


class Copy:
    """What a reader got: each record once, by ring and number."""

    def __init__(self) -> None:
        self.records: Records = {}
        self.missed: Counter[Ring] = Counter()

    def add(self, ring: Ring, page: bytes) -> None:
        (first,) = struct.unpack_from("<Q", page, 32)
        for number, record in enumerate(records(page), first):
            assert self.records.setdefault((ring, number), record) is record, (ring, number)


def mapped(path: Path) -> Copy:
    data, at, copy = path.read_bytes(), 0, Copy()
    while at < len(data):
        ring, pid, first, missed, size = struct.unpack_from("<IiQQQ", data, at)
        page = data[at + 32 : at + 32 + size]
        assert struct.unpack_from("<Q", page, 32) == (first,)
        copy.add((ring, pid), page)
        copy.missed[ring, pid] += missed
        at += 32 + size
    return copy


def read(path: Path) -> Copy:
    """A stream or a snapshot of one component."""
    data, at, copy, owners = path.read_bytes(), 32, Copy(), {}
    while at + 32 <= len(data):
        _, kind, _, size = struct.unpack_from("<IHHQ", data, at)
        payload = data[at + 32 : at + 32 + size]
        at += 32 + size + -size % 8
        if kind == 5:
            ring, pid = struct.unpack_from("<I8xi", payload, 4)
            owners[ring] = pid
        elif kind == 6:
            (ring,) = struct.unpack_from("<I", payload, 4)
            copy.add((ring, owners[ring]), payload[8:])
    return copy


def test_it_has_what_the_stream_has(guest: vm.Result) -> None:
    by_map, by_stream = mapped(guest.out / "all.map"), read(guest.out / "all.stream")
    assert by_map.records == by_stream.records == read(guest.out / "all.snapshot").records
    counted = re.search(r"^records (\d+)$", (guest.out / "all.stats").read_text(), re.MULTILINE)
    assert counted and len(by_map.records) == int(counted[1]) > 10000
    assert not by_map.missed.total()


def test_what_is_missing_is_counted(guest: vm.Result) -> None:
    """In rings of a few pages, under load; and what both have got is the same."""
    by_map, by_stream = mapped(guest.out / "lag.map"), read(guest.out / "lag.stream")
    assert len(by_map.records) > 500
    both = by_map.records.keys() & by_stream.records.keys()
    assert both
    assert not [key for key in both if by_map.records[key] != by_stream.records[key]]
    last: dict[Ring, int] = {}
    count: Counter[Ring] = Counter()
    for ring, number in by_map.records:
        last[ring] = max(last.get(ring, 0), number)
        count[ring] += 1
    assert by_map.missed.total()
    for ring, number in last.items():
        # In the first pass, what is missing before is nobody's fault.
        assert count[ring] + by_map.missed[ring] == number + 1, ring
