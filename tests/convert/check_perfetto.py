# SPDX-License-Identifier: GPL-2.0
"""
Checks a Perfetto trace that the project's published definitions have decoded. It has no field that
they don't know, and it keeps the rules by which the trace processor builds tracks:

- the first packet of a sequence clears the incremental state, and declares the clocks;
- a track is described once, before its first event and before its children;
- a thread's track names its process, and is below that process's track;
- each event is an instant with a name, or the beginning or end of a slice, on a described track,
  with a time of a declared clock;
- an id of a category, of the name of an event or an argument, or of a call site is interned before
  its use, once;
- a flow begins before it goes on, and ends once at most.
"""

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]
from perfetto.protos.perfetto.trace import (  # type: ignore[import-untyped]
    perfetto_trace_pb2 as definitions,
)

# A message of protobuf, which has no types
Message = Any


def read(file: Path) -> Message:
    """A trace. All its packets are within others, compressed."""
    outer = definitions.Trace.FromString(file.read_bytes())
    packed = [packet.compressed_packets for packet in outer.packet]
    assert packed and all(packed)
    assert all(len(packet.ListFields()) == 1 for packet in outer.packet)
    return definitions.Trace.FromString(b"".join(zlib.decompress(text) for text in packed))


def unknown(message: Message) -> Iterator[str]:
    """The fields that the definitions don't know, also of inner messages."""
    for field in UnknownFieldSet(message):
        yield f"{message.DESCRIPTOR.name}.{field.field_number}"
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if field.is_repeated else [value]:
                yield from unknown(inner)


class Trace:
    """What is known so far."""

    def __init__(self) -> None:
        self.tracks: dict[int, Message] = {}
        self.clocks: set[int] = set()
        self.clock = 0
        self.interned: dict[str, set[int]] = {}
        self.cleared = False
        self.events = 0
        # Whether each has ended
        self.flows: dict[int, bool] = {}

    def packet(self, packet: Message) -> None:
        """Takes the next one; ValueError if it breaks a rule."""
        if not packet.trusted_packet_sequence_id:
            raise ValueError("no sequence")
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            self.cleared = True
        if not self.cleared:
            raise ValueError("the state was never cleared")
        kind = packet.WhichOneof("data")
        if kind == "clock_snapshot":
            self.clocks.update(clock.clock_id for clock in packet.clock_snapshot.clocks)
            self.clock = packet.trace_packet_defaults.timestamp_clock_id
        elif kind == "track_descriptor":
            self.track(packet.track_descriptor)
        elif kind == "track_event":
            self.event(packet, packet.track_event)
        else:
            raise ValueError("an empty packet")

    def track(self, track: Message) -> None:
        uuid, parent = track.uuid, track.parent_uuid
        if not uuid or uuid in self.tracks:
            raise ValueError(f"track {uuid} is described again, or is 0")
        if track.HasField("parent_uuid") and parent not in self.tracks:
            raise ValueError(f"track {uuid} is below {parent}, which is not described")
        if track.HasField("thread"):
            above = self.tracks[parent]
            if not above.HasField("process") or above.process.pid != track.thread.pid:
                raise ValueError(f"thread {track.thread.tid} is not below its process")
        elif not track.HasField("process") and not track.name:
            raise ValueError(f"track {uuid} has no name")
        self.tracks[uuid] = track

    def event(self, packet: Message, event: Message) -> None:
        if event.type != event.TYPE_SLICE_END and not event.WhichOneof("name_field"):
            raise ValueError("an event without a name")
        if event.track_uuid not in self.tracks:
            raise ValueError(f"on track {event.track_uuid}, which is not described")
        if (packet.timestamp_clock_id or self.clock) not in self.clocks:
            raise ValueError("without a known clock")
        if not packet.HasField("timestamp"):
            raise ValueError("without a time")
        if packet.sequence_flags != packet.SEQ_NEEDS_INCREMENTAL_STATE:
            raise ValueError("doesn't ask for the packets before it")
        for field, entries in packet.interned_data.ListFields():
            known = self.interned.setdefault(field.name, set())
            for entry in entries:
                if not entry.iid or entry.iid in known:
                    raise ValueError(f"id {entry.iid} of {field.name} is interned again, or is 0")
                known.add(entry.iid)
        self.known("event_categories", event.category_iids)
        if event.HasField("name_iid"):
            self.known("event_names", [event.name_iid])
        if event.HasField("source_location_iid"):
            self.known("source_locations", [event.source_location_iid])
        for annotation in event.debug_annotations:
            if not annotation.HasField("name_iid") or len(annotation.ListFields()) != 2:
                raise ValueError(f"an annotation is not a name and a value: {annotation}")
            self.known("debug_annotation_names", [annotation.name_iid])
        for flow in event.flow_ids:
            self.flows.setdefault(flow, False)
        for flow in event.terminating_flow_ids:
            if self.flows.get(flow) is not False:
                raise ValueError(f"flow {flow} ends again, or never began")
            self.flows[flow] = True
        self.events += 1

    def known(self, kind: str, iids: Iterable[int]) -> None:
        for iid in iids:
            if iid not in self.interned.get(kind, ()):
                raise ValueError(f"id {iid} of {kind} is not interned")


def check(packets: Message, events: int) -> None:
    """AssertionError: an unknown field, a broken rule, or another number of events."""
    assert not list(UnknownFieldSet(packets))
    trace = Trace()
    for number, packet in enumerate(packets.packet):
        fields = list(unknown(packet))
        assert not fields, f"packet {number}: fields unknown to Perfetto's definitions: {fields}"
        try:
            trace.packet(packet)
        except (ValueError, KeyError) as e:
            raise AssertionError(f"packet {number}: {e}") from e
    assert trace.events == events, f"{trace.events} events, not {events}"
