# SPDX-License-Identifier: GPL-2.0
"""The records of tools/blog-decode/examples/biglog.rs with one ring, as "trace-cmd record" writes
those of a TRACE_EVENT.

Besides its records, the file has what "trace-cmd report" asks for.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

STEP, PID, COMM, EVENT, PAGE = 1000, 1000, "fio", 1000, 4096
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
FORMAT = f"""\
name: read
ID: {EVENT}
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u32 count;	offset:8;	size:4;	signed:0;
	field:u64 sector;	offset:16;	size:8;	signed:0;

print fmt: "read %u sectors at 0x%llx", REC->count, REC->sector
"""


def sized(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def pages(records: int) -> Iterator[bytes]:
    """Those of ftrace's ring buffer: time of the first record, bytes in use, records."""
    one = struct.Struct("<IHBBiI4xQ")
    words, room = (one.size - 4) // 4, (PAGE - 16) // one.size
    for first in range(0, records, room):
        page = b"".join(
            one.pack(words | (STEP if n > first else 0) << 5, EVENT, 0, 0, PID, n % 256, n * 8)
            for n in range(first, min(first + room, records))
        )
        yield (struct.pack("<QQ", first * STEP, len(page)) + page).ljust(PAGE, b"\0")


def write(path: Path, records: int) -> None:
    head = b"\x17\x08\x44tracing6\0" + struct.pack("<BBI", 0, 8, PAGE)
    head += b"header_page\0" + sized(HEADER_PAGE) + b"header_event\0" + sized(HEADER_EVENT)
    head += struct.pack("<II", 0, 1) + b"block\0" + struct.pack("<I", 1) + sized(FORMAT)
    head += struct.pack("<II", 0, 0) + sized(f"{PID} {COMM}\n")
    head += struct.pack("<I", 1) + b"options  \0\0\0flyrecord\0"
    at = (len(head) + 16 + PAGE - 1) // PAGE * PAGE
    with path.open("wb") as file:
        file.seek(at)
        file.writelines(pages(records))
        length = file.tell() - at
        file.seek(0)
        file.write(head + struct.pack("<QQ", at, length))
