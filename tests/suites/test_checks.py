# SPDX-License-Identifier: GPL-2.0
"""Tests of the checker itself: it reports nothing for a correct log, and each check notices
the violation of its property. Needs no kernel."""

import json
import re
import subprocess
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from e2e import checks, pattern, records

SETUP = "pytest"
Item = dict[str, Any]
Items = list[Item]


def record(ring: int, ns: int, verb: str, op: str, sector: int, size: int, tag: int) -> Item:
    """A JSON record of the request path as blog-decode prints it."""
    args = {"op": op, "sector": sector, "bytes": size, "tag": tag}
    return {
        "type": "record",
        "component": "rnull",
        "ring": ring,
        "mono_ns": ns,
        "format": verb + " {op:?} sector={sector} bytes={bytes} tag={tag}",
        "message": "",
        "args": [
            {"name": name, "type": "", "text" if isinstance(value, str) else "value": value}
            for name, value in args.items()
        ],
    }


def ring(number: int, context: str, taken: int, **more: object) -> Item:
    """A JSON ring line."""
    return {
        "type": "ring",
        "component": "rnull",
        "ring": number,
        "context": context,
        "cpu": None,
        "pid": None,
        "comm": None,
        "taken": taken,
        "decoded": taken,
        "overwritten": 0,
        "missing": 0,
        "lost": {},
        **more,
    }


def loss(number: int, cause: str, count: int) -> Item:
    """A JSON loss line."""
    return {"type": "lost", "component": "rnull", "ring": number, "cause": cause, "count": count}


def good() -> Items:
    """Two tasks and two CPUs; ring 1 is a partition scan; tag 3 is used twice."""
    return [
        {"type": "ringless", "component": "rnull", "gone": 0, "lost": {}},
        ring(1, "task", 1, pid=1, comm="init"),
        record(1, 5, "queue", "Read", 900, 4096, 9),
        ring(2, "task", 3, pid=7, comm="fio"),
        record(2, 10, "queue", "Write", 0, 512, 3),
        record(2, 30, "queue", "Write", 1, 512, 3),
        record(2, 40, "queue", "Read", 64, 1024, 4),
        ring(3, "softirq", 3, cpu=0),
        record(3, 6, "complete", "Read", 900, 4096, 9),
        record(3, 20, "complete", "Write", 0, 512, 3),
        record(3, 50, "complete", "Write", 1, 512, 3),
        ring(4, "softirq", 1, cpu=1),
        record(4, 50, "complete", "Read", 64, 1024, 4),
        {"type": "summary", "undecoded": 0},
    ]


EXPECTED = [
    records.pack(*request, 0) >> 10
    for request in (("Write", 0, 512), ("Write", 1, 512), ("Read", 64, 1024))
]
COUNTERS = {"queue": 4, "complete": 4}
STAT = {"reads": 2, "writes": 2}


def log_of(items: Items) -> records.Log:
    """The log of JSON objects, passed as text, as in real use."""
    return records.read(json.dumps(item) for item in items)


def violated(
    items: Items,
    counters: checks.Counts = COUNTERS,
    stat: checks.Counts = STAT,
    by_cpu: dict[int, int] | None = None,
    early: Items | None = None,
) -> set[str]:
    """Names of the properties that don't hold."""
    log = log_of(items)
    all_checks = [
        ("decodes", checks.everything_decodes(log)),
        ("shown", checks.losses_are_shown(log)),
        ("silent", checks.nothing_silent(log, counters["queue"] + counters["complete"])),
        ("softirq", checks.softirq_rings_account(log, by_cpu or {0: 3, 1: 1})),
        ("lost", checks.nothing_lost(log)),
        ("disk", checks.disk_agrees(counters, stat)),
        ("load", checks.load_is_logged(log, EXPECTED)),
        ("order", checks.completions_follow(log)),
        ("order-lossy", checks.completions_follow(log, whole=False)),
        ("part", checks.is_part_of(log_of(early), log) if early else ()),
        ("cpus", checks.on_cpus(log, 2)),
    ]
    return {name for name, found in all_checks if list(islice(found, 1))}


@pytest.fixture
def items() -> Items:
    return good()


def args(item: Item) -> dict[str, Item]:
    """A record's arguments by name."""
    return {arg["name"]: arg for arg in item["args"]}


def find(items: Items, verb: str, sector: int) -> Item:
    """The record of that kind with that sector."""
    for item in items:
        is_kind = item["type"] == "record" and item["format"].startswith(verb)
        if is_kind and args(item)["sector"]["value"] == sector:
            return item
    raise KeyError(verb, sector)


VERBS = ("queue", "complete")


def lose(items: Items, count: int) -> None:
    """So many nested records of ring 2 are lost, and that is shown."""
    items[3].update(lost={"nested": count})
    items.append(loss(2, "nested", count))


def overwrite(items: Items, count: int, shown: int) -> None:
    """So many records of ring 2 are overwritten."""
    items[3].update(taken=3 + count, overwritten=count)
    items.append(loss(2, "overwritten", shown))


# Errors of a log, and the properties that they violate.
WRONG: dict[str, tuple[Callable[[Items], object], str]] = {
    "nothing": (lambda log: None, ""),
    "nothing, in another order": (lambda log: log.sort(key=lambda i: i.get("mono_ns", 0)), ""),
    "equal times, of one ring": (lambda log: find(log, "queue", 1).update(mono_ns=20), ""),
    "equal times, of two": (lambda log: find(log, "queue", 64).update(mono_ns=50), ""),
    "record missing": (
        lambda log: log.remove(find(log, "queue", 1)),
        "load order shown",
    ),
    "record twice": (
        lambda log: log.append(find(log, "complete", 64)),
        "load order shown",
    ),
    "wrong sector": (
        lambda log: args(find(log, "complete", 64))["sector"].update(value=65),
        "load order",
    ),
    "load in a stranger's ring": (lambda log: log[1].update(comm="fio"), "load"),
    "time back": (lambda log: find(log, "queue", 1).update(mono_ns=9), "order"),
    "completion too early": (
        lambda log: find(log, "queue", 64).update(mono_ns=51),
        "order order-lossy",
    ),
    "tag used twice": (lambda log: find(log, "complete", 0).update(mono_ns=35), "order"),
    "never completed": (
        lambda log: log.remove(find(log, "complete", 64)),
        "cpus load order shown",
    ),
    "rings gone": (lambda log: log[0].update(gone=3), "lost silent"),
    "loss without a ring": (lambda log: log[0].update(lost={"no-ring": 1}), "lost silent"),
    "completion in a task": (
        lambda log: find(log, "complete", 64).update(ring=2),
        "cpus shown",
    ),
    "record not decoded": (lambda log: log[-1].update(undecoded=1), "decodes"),
    "wrong size": (
        lambda log: [args(find(log, verb, 0))["bytes"].update(value=1024) for verb in VERBS],
        "load",
    ),
    "loss in a ring": (lambda log: log[3].update(lost={"nested": 2}), "lost shown silent"),
    "loss that is shown": (lambda log: lose(log, 2), "lost silent"),
    "overwritten, and not counted": (lambda log: log[3].update(taken=5), "silent"),
    "overwritten": (lambda log: overwrite(log, 2, shown=2), "lost silent"),
    "overwritten, and not all shown": (
        lambda log: overwrite(log, 2, shown=1),
        "lost shown silent",
    ),
    "record missing, and its ring in on it": (
        lambda log: (
            log.pop(log.index(find(log, "complete", 1))),
            log[7].update(taken=2, decoded=2),
        ),
        "load order silent softirq",
    ),
}
# Where it is a witness that says something else
WITNESSES: dict[str, tuple[dict[str, Any], str]] = {
    "driver counted more": ({"counters": {"queue": 5, "complete": 4}}, "disk silent"),
    "disk did more": ({"stat": dict(STAT, writes=3)}, "disk"),
    "other CPU": ({"by_cpu": {0: 2, 1: 2}}, "softirq"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(items: Items, name: str) -> None:
    change, properties = WRONG[name]
    change(items)
    assert violated(items) == set(properties.split())


@pytest.mark.parametrize("name", WITNESSES)
def test_witness(items: Items, name: str) -> None:
    said, properties = WITNESSES[name]
    assert violated(items, **said) == set(properties.split())


def test_softirqs_that_are_tasks(items: Items) -> None:
    log = log_of(items)
    assert len(list(checks.softirqs_are_tasks(log, {0: 3, 1: 1}))) == 2
    for item in items:
        if item.get("context") == "softirq":
            item.update(context="task", pid=16 + item["cpu"], comm="ksoftirqd")
    log = log_of(items)
    assert list(checks.softirqs_are_tasks(log, {0: 3, 1: 1})) == []
    assert len(list(checks.softirqs_are_tasks(log, {}))) == 1


def test_softirqs_in_a_shared_ring(items: Items) -> None:
    for item in items:
        if item.get("ring") != 4:
            continue
        if item["type"] == "ring":
            item.update(context=None, cpu=None, shared=0)
        else:
            item.update(context="softirq", cpu=1, shared=0)
    assert violated(items) == {"cpus"}
    assert "softirq" in violated(items, by_cpu={0: 2, 1: 2})
    # What the shared ring has lost may be any CPU's, but only once.
    log = log_of(items)
    log.rings["rnull", 4].lost = {"no-page": 2}
    assert list(checks.softirq_rings_account(log, {0: 4, 1: 2})) == []
    assert len(list(checks.softirq_rings_account(log, {0: 5, 1: 2}))) == 1
    assert len(list(checks.softirqs_are_tasks(log, {0: 3, 1: 1}))) == 2


def test_a_loss_that_the_driver_counted_is_not_silent(items: Items) -> None:
    items[3]["lost"] = {"no-page": 2}
    assert "silent" not in violated(items, counters=dict(COUNTERS, queue=6))


def test_snapshot_is_the_beginning(items: Items) -> None:
    early = [item for item in good() if item.get("mono_ns", 0) <= 30]
    assert not violated(items, early=early)
    records_of_it = [item for item in early if item["type"] == "record"]
    args(records_of_it[-1])["sector"]["value"] += 1
    assert violated(items, early=early) == {"part"}


def test_lossy_run(items: Items) -> None:
    log = log_of(items)
    assert list(checks.load_is_logged(log, EXPECTED, whole=False)) == []
    assert list(checks.something_lost(log))
    items.remove(find(items, "queue", 0))
    log = log_of(items)
    assert list(checks.load_is_logged(log, EXPECTED, whole=False)) == []
    items.append(find(items, "queue", 1))
    log = log_of(items)
    assert list(checks.load_is_logged(log, EXPECTED, whole=False))


def test_no_sector_is_requested_twice() -> None:
    used: set[int] = set()
    for _, sector, size in pattern.expected(800):
        blocks = set(range(sector, sector + size // pattern.SECTOR))
        assert not used & blocks
        used |= blocks


def test_requests_pack() -> None:
    for op, sector, size in pattern.expected(80):
        for tag in (0, 255):
            packed = records.pack(op, sector, size, tag)
            assert records.unpack(packed) == (op, sector, size, tag)


@pytest.mark.parametrize(("disk", "status"), [("/dev/null", 0), ("/nowhere/disk", 1)])
def test_a_load_of_dd_fails_if_one_of_them_does(disk: str, status: int) -> None:
    # /dev/null can neither be read nor written past the page cache.
    script = re.sub(r" [io]flag=direct", "", pattern.script(80, disk))
    done = subprocess.run(["sh"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == status, done.stdout


def test_too_many_are_refused() -> None:
    with pytest.raises(ValueError):
        pattern.disk_mib(100_000_000)
