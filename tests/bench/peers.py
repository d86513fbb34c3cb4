# SPDX-License-Identifier: GPL-2.0
"""The records of tools/blog-decode/examples/biglog.rs with one ring, as other loggers write them:
as an ftrace event in a file of "trace-cmd record", and as CTF such as LTTng's.

What a file has besides its records is what the readers ask for.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

STEP, PID, COMM = 1000, 1000, "fio"
EVENT = 1000
PAGE = 4096
MESSAGE = "read %u sectors at 0x%llx"

COMMON = """
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;
"""
HEADER_PAGE = """\
	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:1;
"""
HEADER_EVENT = """\
# compressed entry header
	type_len    :    5 bits
	time_delta  :   27 bits
	array       :   32 bits

	padding     : type == 29
	time_extend : type == 30
	time_stamp : type == 31
	data max type_len  == 28
"""
EVENT_FORMAT = f"""\
name: read
ID: {EVENT}
format:{COMMON}
	field:u32 count;	offset:8;	size:4;	signed:0;
	field:u64 sector;	offset:16;	size:8;	signed:0;

print fmt: "{MESSAGE}", REC->count, REC->sector
"""

# Header of 5 bits for the id and 27 for the time, as LTTng's compact one; context: the thread.
METADATA = """\
/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 32; signed = false; } := uint32_t;
typealias integer { size = 32; align = 32; signed = true; } := int32_t;
typealias integer { size = 64; align = 64; signed = false; } := uint64_t;
trace {
	major = 1; minor = 8; byte_order = le;
	packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
env { hostname = "vm"; domain = "kernel"; tracer_name = "lttng-modules"; };
clock { name = "monotonic"; freq = 1000000000; offset = 1790000000000000000; };
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := time27;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time64;
stream {
	id = 0;
	packet.context := struct {
		time64 timestamp_begin; time64 timestamp_end; uint64_t content_size; uint64_t packet_size;
		uint32_t cpu_id;
	};
	event.header := struct {
		integer { size = 5; align = 1; signed = false; } id;
		time27 timestamp;
	} align(32);
	event.context := struct { int32_t tid; };
};
event {
	name = "read"; id = 0; stream_id = 0;
	fields := struct {
		integer { size = 32; align = 8; signed = false; } count;
		integer { size = 64; align = 8; signed = false; base = 16; } sector;
	};
};
"""


def values(records: int) -> Iterator[tuple[int, int, int]]:
    """When each was, and its arguments."""
    for n in range(records):
        yield n * STEP, n % 256, n * 8


def sized(text: str, form: str = "<Q") -> bytes:
    return struct.pack(form, len(text)) + text.encode()


def pages(records: int) -> Iterator[bytes]:
    """Those of ftrace's ring buffer: time of the first, bytes in use, events."""
    one = struct.Struct("<IHBBiI4xQ")
    # Length in words; then so long after the one before
    word = (one.size - 4) // 4
    room = (PAGE - 16) // one.size
    page, start = bytearray(), 0
    for n, (time, *args) in enumerate(values(records)):
        if n % room == 0 and page:
            yield (struct.pack("<QQ", start, len(page)) + page).ljust(PAGE, b"\0")
            page.clear()
        start = start if page else time
        page += one.pack(word | (STEP if page else 0) << 5, EVENT, 0, 0, PID, *args)
    yield (struct.pack("<QQ", start, len(page)) + page).ljust(PAGE, b"\0")


def trace_dat(path: Path, records: int) -> None:
    """A file of trace-cmd."""
    parts = [b"\x17\x08\x44tracing6\0", struct.pack("<BBI", 0, 8, PAGE)]
    parts += [b"header_page\0", sized(HEADER_PAGE), b"header_event\0", sized(HEADER_EVENT)]
    parts += [struct.pack("<II", 0, 1), b"block\0", struct.pack("<I", 1), sized(EVENT_FORMAT)]
    parts += [struct.pack("<II", 0, 0)]
    parts += [sized(f"{PID} {COMM}\n"), struct.pack("<I", 1), b"options  \0\0\0flyrecord\0"]
    head = b"".join(parts)
    at = (len(head) + 16 + PAGE - 1) // PAGE * PAGE
    with path.open("wb") as file:
        file.seek(at)
        file.writelines(pages(records))
        length = file.tell() - at
        file.seek(0)
        file.write(head + struct.pack("<QQ", at, length))


def ctf(folder: Path, records: int) -> None:
    """A directory with one stream, of packets of 1024 events."""
    folder.mkdir(exist_ok=True)
    (folder / "metadata").write_text(METADATA)
    one, head = struct.Struct("<IiIQ"), struct.Struct("<IIQQQQI")
    # What comes first in a packet is at a multiple of 32 bits.
    events: list[bytes] = []
    with (folder / "channel0_0").open("wb") as file:
        for time, count, sector in values(records):
            events.append(one.pack((time & 0x7FFFFFF) << 5, PID, count, sector))
            if len(events) == 1024 or time == (records - 1) * STEP:
                bits = 8 * (head.size + len(events) * one.size)
                begin = time - (len(events) - 1) * STEP
                file.write(head.pack(0xC1FC1FC1, 0, begin, time, bits, bits, 0))
                file.writelines(events)
                events.clear()
