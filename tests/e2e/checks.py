# SPDX-License-Identifier: GPL-2.0
"""What must hold of a log: one function for each property.

Each takes logs (records.Log) and what independent witnesses say (the driver's
own counters, the block layer's, the pattern of the load), and yields a sentence
for each violation. No violation: it holds. None of them prints or reads files.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from e2e.records import COMPLETE, QUEUE, Log, unpack

Counts = dict[str, int]


def _show(key: int) -> str:
    op, sector, size, tag = unpack(key)
    return f"{op} sector {sector} bytes {size} tag {tag}"


def everything_decodes(log: Log) -> Iterator[str]:
    """No record is unknown, and the file adds up."""
    if log.undecoded:
        yield f"{log.undecoded} records not decoded"
    yield from log.contradictions


def losses_are_shown(log: Log) -> Iterator[str]:
    """All that the decoder counts of a ring is shown, and nothing else is."""
    for ring in log.rings.values():
        there, gone = (len(ring.ns), ring.decoded), (ring.shown, ring.overwritten)
        if there[0] != there[1] or gone[0] != gone[1]:
            yield f"{ring.name}: records shown and counted {there}, overwritten ones {gone}"
        for cause in set(ring.lost) | set(ring.shown_lost):
            shown, counted = ring.shown_lost.get(cause, 0), ring.lost.get(cause, 0)
            if shown != counted:
                yield f"{ring.name}: {shown} shown as lost by {cause}, {counted} counted"


def nothing_silent(log: Log, attempted: int) -> Iterator[str]:
    """What the driver counted = records written + losses counted, over all rings."""
    written = sum(ring.written for ring in log.rings.values()) + log.gone
    lost = sum(sum(ring.lost.values()) for ring in log.rings.values())
    lost += sum(log.lost.values())
    if written + lost != attempted:
        yield f"{written} written + {lost} lost is not {attempted} by the driver's count"


def softirq_rings_account(log: Log, by_cpu: dict[int, int]) -> Iterator[str]:
    """Each CPU's completions are in its softirq ring, by the driver's own count.

    Or in a shared ring, if that one got no page. Losses of such a ring are not
    known by CPU: no CPU may miss more than that, nor may all together.
    """
    softirqs = (r for r in log.rings.values() if r.ctx == "softirq")
    rings = {r.cpu: r for r in softirqs if r.cpu is not None}
    shared = [r for r in log.rings.values() if r.ctx == "shared"]
    unknown = sum(r.overwritten + sum(r.lost.values()) for r in shared)
    for cpu in sorted(set(rings) | set(by_cpu)):
        ring = rings.get(cpu)
        have = ring.written + sum(ring.lost.values()) if ring else 0
        have += sum(r.softirqs[cpu] for r in shared)
        missing = by_cpu.get(cpu, 0) - have
        if not 0 <= missing <= unknown:
            yield f"softirq of cpu {cpu}: {have} in the log, {by_cpu.get(cpu, 0)} counted"
        unknown -= missing
        if ring and ring.kind.count(COMPLETE) != len(ring.kind):
            yield f"{ring.name}: has more than completions"


def softirqs_are_tasks(log: Log, by_cpu: dict[int, int]) -> Iterator[str]:
    """PREEMPT_RT: completions are in the rings of tasks, and no ring is a softirq's."""
    for ring in log.rings.values():
        if ring.ctx == "softirq":
            yield f"{ring.name}: there is none on PREEMPT_RT"
        elif ring.softirqs or ring.ctx not in ("task", "shared") and ring.kind.count(COMPLETE):
            yield f"{ring.name}: has completions"
    if not sum(by_cpu.values()):
        yield "no completions"


def nothing_lost(log: Log) -> Iterator[str]:
    """There was room for all: no loss of any cause."""
    for ring in log.rings.values():
        lost = {cause: n for cause, n in ring.lost.items() if n}
        if lost or ring.overwritten:
            yield f"{ring.name}: lost {lost}, {ring.overwritten} overwritten"
    if log.gone or any(log.lost.values()):
        yield f"{log.gone} gone with their rings, lost without a ring: {log.lost}"


def something_lost(log: Log) -> Iterator[str]:
    """The test meant to lose records, and did."""
    lost = [log.gone, *log.lost.values()]
    for ring in log.rings.values():
        lost += [ring.overwritten, *ring.lost.values()]
    if not any(lost):
        yield "no loss at all"


def disk_agrees(counters: Counts, stat: Counts) -> Iterator[str]:
    """The block layer finished as many I/Os as the driver queued and completed."""
    ios = stat["reads"] + stat["writes"]
    for name in ("queue", "complete"):
        if counters[name] != ios:
            yield f"the disk's stat says {ios} I/Os, the driver counted {counters[name]} ({name})"


def _seen(log: Log, kind: int) -> Counter[int]:
    """Requests of a kind, without tags, as a Counter of packed requests."""
    seen: Counter[int] = Counter()
    for ring in log.rings.values():
        seen.update(key >> 10 for k, key in zip(ring.kind, ring.key) if k == kind)
    return seen


def _strangers(log: Log, want: Counter[int], comm: str) -> Counter[int]:
    """Requests that the load didn't issue and that another task submitted: the
    partition scan, say. (Another task may also submit the load's: kblockd.)"""
    seen: Counter[int] = Counter()
    for ring in log.rings.values():
        if ring.ctx == "task" and ring.comm != comm:
            requests = (key >> 10 for k, key in zip(ring.kind, ring.key) if k == QUEUE)
            seen.update(request for request in requests if request not in want)
    return seen


def load_is_logged(
    log: Log, expected: Iterable[int], comm: str = "fio", whole: bool = True
) -> Iterator[str]:
    """Sector, size and operation equal what the load issued, each I/O once.

    `expected`: packed requests without tags. With losses (whole=False) what is
    there must be among them, and no more often.
    """
    want = Counter(expected)
    strangers = _strangers(log, want, comm)
    for kind, name in ((QUEUE, "queue"), (COMPLETE, "complete")):
        seen = _seen(log, kind)
        extra = seen - want - strangers
        if kind == COMPLETE and not whole:
            # The submission of a stranger's completion may be among the lost.
            extra = Counter({key: n for key, n in extra.items() if key in want})
        missing = want - seen if whole else Counter()
        for what, rest in (("not issued", extra), ("missing", missing)):
            if rest:
                first = next(iter(rest))
                yield f"{sum(rest.values())} {name} records {what}, first {_show(first << 10)}"


def completions_follow(log: Log, whole: bool = True) -> Iterator[str]:
    """Across rings: of each tag, submissions and completions take turns in time,
    each completion with the request of its submission.

    A completion with the time of its submission is fine; one before it isn't.
    With losses (whole=False) only pairs that are both there are looked at.
    """
    if not whole:
        yield from _pairs_follow(log)
        return
    events: dict[int, list[tuple[int, int, int]]] = {}
    for ring in log.rings.values():
        for ns, kind, key in zip(ring.ns, ring.kind, ring.key):
            if kind in (QUEUE, COMPLETE):
                # By time; of the same time, completions of the tag's last use
                # look like later ones, so the sort is by time alone
                # and ties are settled below.
                events.setdefault(key & 0x3FF, []).append((ns, kind, key))
    for tag in sorted(events):
        yield from _turns(tag, events[tag])


def _turns(tag: int, events: list[tuple[int, int, int]]) -> Iterator[str]:
    """Checks that events of one tag are submission, completion, submission, ..."""
    events.sort()
    open_key = None
    pending = list(events)
    place = 0
    while place < len(pending):
        ns, kind, key = pending[place]
        if kind == (QUEUE if open_key is None else COMPLETE) and open_key in (None, key):
            open_key = key if kind == QUEUE else None
            place += 1
            continue
        # Of equal times, any order that fits is right.
        other = place + 1
        while other < len(pending) and pending[other][0] == ns:
            _, k, o = pending[other]
            if k == (QUEUE if open_key is None else COMPLETE) and open_key in (None, o):
                break
            other += 1
        else:
            name = "completion before its submission" if kind == COMPLETE else "used twice"
            yield f"tag {tag}: {name} at {ns} ns: {_show(key)}"
            return
        pending[place], pending[other] = pending[other], pending[place]
    if open_key is not None:
        yield f"tag {tag}: never completed: {_show(open_key)}"


def _pairs_follow(log: Log) -> Iterator[str]:
    """Completion not before submission, for requests that are logged once each."""
    queued: dict[int, list[int]] = {}
    done: dict[int, list[int]] = {}
    for ring in log.rings.values():
        for ns, kind, key in zip(ring.ns, ring.kind, ring.key):
            if kind == QUEUE:
                queued.setdefault(key, []).append(ns)
            elif kind == COMPLETE:
                done.setdefault(key, []).append(ns)
    for key, times in done.items():
        if len(times) == 1 and len(queued.get(key, ())) == 1 and times[0] < queued[key][0]:
            yield f"completed {queued[key][0] - times[0]} ns before it was queued: {_show(key)}"


def is_part_of(early: Log, late: Log) -> Iterator[str]:
    """A snapshot during the load holds, ring by ring, the beginning of what the last
    one holds. For runs without loss."""
    for where, ring in early.rings.items():
        whole = late.rings.get(where)
        count = len(ring.ns)
        if whole is None:
            yield f"{ring.name}: not in the later snapshot"
        elif ring.kind != whole.kind[:count] or ring.key != whole.key[:count]:
            yield f"{ring.name}: other records than in the later snapshot"


def on_cpus(log: Log, least: int) -> Iterator[str]:
    """Completions ran in softirq, on several CPUs."""
    rings = [r for r in log.rings.values() if r.ctx == "softirq" and r.kind.count(COMPLETE)]
    if len(rings) < least:
        yield f"completions on {len(rings)} CPUs only"
    tasks = [r for r in log.rings.values() if r.ctx == "task" and r.kind.count(COMPLETE)]
    for ring in tasks:
        yield f"{ring.name}: completions in a task"
