# SPDX-License-Identifier: GPL-2.0
"""
Checks the text of a Perfetto trace that protoc has decoded by the project's published
definitions: it has no field that they don't know, and it keeps the rules by which the trace
processor builds tracks:

- the first packet of a sequence clears the incremental state, and tells of the clocks;
- a track is described once, before its first event and before its children;
- a thread's track names its process, and is below that process's track;
- each event is an instant with a name, or the beginning or end of a slice, on a described track,
  with a time of a clock that was told of;
- an id of a category, of the name of an event or an argument, or of a call site was told of, once;
- a flow begins before it goes on, and ends once at most.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

Fields = dict[str, Any]

LINE = re.compile(r"^ *(?:(?P<end>})|(?P<key>[\w]+)(?:: (?P<value>.*)| (?P<begin>{)))$")


def parse(lines: Iterable[str]) -> Iterator[tuple[Fields, list[str]]]:
    """Packets one by one, as dicts of lists; an unknown field is an error."""
    stack: list[Fields] = [{}]
    unknown: list[str] = []
    for line in lines:
        match = LINE.match(line.rstrip("\n"))
        if not match:
            raise SystemExit(f"not protoc's text: {line!r}")
        if match["end"]:
            done = stack.pop()
            if len(stack) == 1:
                yield done, unknown
                stack, unknown = [{}], []
            continue
        if match["key"].isdigit():
            unknown.append(line.strip())
        if match["begin"]:
            inner: Fields = {}
            stack[-1].setdefault(match["key"], []).append(inner)
            stack.append(inner)
        else:
            stack[-1].setdefault(match["key"], []).append(match["value"])


def one(message: Fields, key: str) -> Any:
    """The value of a field that is there at most once."""
    values = message.get(key, [None])
    if len(values) > 1:
        raise ValueError(f"{key} is there {len(values)} times")
    return values[0]


class Trace:
    """What is known so far."""

    def __init__(self) -> None:
        self.tracks: dict[str, Fields] = {}
        self.clocks: set[str] = set()
        self.clock: str | None = None
        self.interned: dict[str, set[str]] = {}
        self.cleared = False
        self.events = 0
        # Whether each has ended
        self.flows: dict[str, bool] = {}

    def packet(self, packet: Fields) -> None:
        """Takes the next one; ValueError if it breaks a rule."""
        if one(packet, "trusted_packet_sequence_id") in (None, "0"):
            raise ValueError("no sequence")
        if int(one(packet, "sequence_flags") or 0) & 1:
            self.cleared = True
        if not self.cleared:
            raise ValueError("the state was never cleared")
        if snapshot := one(packet, "clock_snapshot"):
            for clock in snapshot["clocks"]:
                self.clocks.add(one(clock, "clock_id"))
            self.clock = one(one(packet, "trace_packet_defaults"), "timestamp_clock_id")
        elif descriptor := one(packet, "track_descriptor"):
            self.track(descriptor)
        elif event := one(packet, "track_event"):
            self.event(packet, event)
        else:
            raise ValueError("an empty packet")

    def track(self, descriptor: Fields) -> None:
        uuid, parent = one(descriptor, "uuid"), one(descriptor, "parent_uuid")
        if uuid in (None, "0") or uuid in self.tracks:
            raise ValueError(f"track {uuid} is described again, or is 0")
        if parent is not None and parent not in self.tracks:
            raise ValueError(f"track {uuid} is below {parent}, which is not described")
        if thread := one(descriptor, "thread"):
            process = one(self.tracks[parent], "process")
            if not process or one(process, "pid") != one(thread, "pid"):
                raise ValueError(f"thread {one(thread, 'tid')} is not below its process")
        elif not one(descriptor, "process") and not one(descriptor, "name"):
            raise ValueError(f"track {uuid} has no name")
        self.tracks[uuid] = descriptor

    def event(self, packet: Fields, event: Fields) -> None:
        is_end = one(event, "type") == "TYPE_SLICE_END"
        if not is_end and len(event.get("name", []) + event.get("name_iid", [])) != 1:
            raise ValueError("an event without a name, or with two")
        if one(event, "track_uuid") not in self.tracks:
            raise ValueError(f"on track {one(event, 'track_uuid')}, which is not described")
        clock = one(packet, "timestamp_clock_id") or self.clock
        if clock not in self.clocks or not packet.get("timestamp"):
            raise ValueError("without a time of a known clock")
        if one(packet, "sequence_flags") != "2":
            raise ValueError("says not that it needs what was told before")
        for kind, told in (one(packet, "interned_data") or {}).items():
            known = self.interned.setdefault(kind, set())
            for iid in (one(entry, "iid") for entry in told):
                if iid in (None, "0") or iid in known:
                    raise ValueError(f"id {iid} of {kind} is told of again, or is 0")
                known.add(iid)
        self.known("event_categories", event.get("category_iids", []))
        self.known("event_names", event.get("name_iid", []))
        self.known("source_locations", event.get("source_location_iid", []))
        for annotation in event.get("debug_annotations", []):
            if one(annotation, "name_iid") is None or len(annotation) != 2:
                raise ValueError(f"an annotation is not a name and a value: {annotation}")
            self.known("debug_annotation_names", annotation["name_iid"])
        for flow in event.get("flow_ids", []):
            self.flows.setdefault(flow, False)
        for flow in event.get("terminating_flow_ids", []):
            if self.flows.get(flow) is not False:
                raise ValueError(f"flow {flow} ends again, or never began")
            self.flows[flow] = True
        self.events += 1

    def known(self, kind: str, iids: Iterable[str]) -> None:
        for iid in iids:
            if iid not in self.interned.get(kind, ()):
                raise ValueError(f"id {iid} of {kind} was not told of")


def check(lines: Iterable[str], events: int) -> None:
    """AssertionError: an unknown field, a broken rule, or another number of events."""
    trace = Trace()
    for number, (packet, unknown) in enumerate(parse(lines)):
        assert not unknown, f"packet {number}: fields unknown to Perfetto's definitions: {unknown}"
        try:
            trace.packet(packet)
        except (ValueError, KeyError) as e:
            raise AssertionError(f"packet {number}: {e}") from e
    assert trace.events == events, f"{trace.events} events, not {events}"
