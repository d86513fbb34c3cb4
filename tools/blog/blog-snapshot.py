#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prints a snapshot of BLog, the binary logger: blog-snapshot.py SNAPSHOT ELF...

SNAPSHOT is a copy of a file /sys/kernel/tracing/blog/.../snapshot. Each ELF is a vmlinux or a module
with its section .debug.blog, found by build ID. Documentation/blog/index.rst has both formats.
"""
# mypy: ignore-errors

import struct
import sys
import zlib
from datetime import datetime, timezone

LEVELS = ("?", "err", "warn", "info", "debug", "trace")
CONTEXTS = ("task", "softirq", "hardirq", "nmi", "shared")
CAUSES = ("no page", "nested", "too long", "disabled", "reader", "full", "no ring", "frozen")
PAYLOAD_MAX = 1023


def text(raw):
    return raw.split(b"\0")[0].decode(errors="replace")


class Elf:
    """What the section .debug.blog of an image says of its call sites, by their index."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        assert self.data[:6] == b"\x7fELF\x02\x01", (
            f"{path}: not an ELF file of 64 bits, little-endian"
        )
        offset, size, count, names = struct.unpack_from("<Q10xHHH", self.data, 40)
        at = range(offset, offset + size * count, size)
        self.heads = heads = [struct.unpack_from("<IIQQQQIIQQ", self.data, n) for n in at]
        self.names = [text(self.data[heads[names][4] + head[0] :][:64]) for head in heads]
        self.build_id, self.sites = b"", {}
        for n, head in enumerate(heads):
            if head[1] == 7 and self.names[n] in (".note.gnu.build-id", ".notes"):
                self.read_note(self.section(n))
        if ".debug.blog" in self.names:
            self.read_sites()

    def section(self, n):
        head = self.heads[n]
        return self.data[head[4] : head[4] + head[5]]

    def read_note(self, note):
        at = 0
        while at + 12 <= len(note):
            name, size, kind = struct.unpack_from("<III", note, at)
            start = at + 12 + (name + 3 & ~3)
            if kind == 3 and note[at + 12 : at + 12 + name] == b"GNU\0":
                self.build_id = note[start : start + size]
            at = start + (size + 3 & ~3)

    def symbols(self):
        for n, head in enumerate(self.heads):
            if head[1] != 2:
                continue
            table, names = self.section(n), self.section(head[6])
            for at in range(0, len(table), 24):
                name, _, where, value = struct.unpack_from("<IHHQ", table, at)
                yield text(names[name : name + 64]), where, value

    def read_sites(self):
        debug = self.names.index(".debug.blog")
        descriptors = bytearray(self.section(debug))
        symbols = list(self.symbols())
        # A module's entries are where relocations say; vmlinux has addresses.
        starts = [value for name, _, value in symbols if name == "__start_blog_sites"]
        for head in self.heads:
            if head[1] == 4 and head[7] == debug:
                starts = [0]
                for at in range(head[4], head[4] + head[5], 24):
                    place, info, addend = struct.unpack_from("<QQq", self.data, at)
                    _, where, value = symbols[info >> 32]
                    if where < len(self.names) and self.names[where] == ".blog_sites":
                        struct.pack_into("<Q", descriptors, place, value + addend)
        at = 0
        while at + 8 <= len(descriptors):
            magic, length = struct.unpack_from("<4sI", descriptors, at)
            if magic == b"BLFD" and length >= 32:
                head = struct.unpack_from("<QIBB2x4H", descriptors, at + 8)
                address, line, level, argc, *lengths = head
                codes = struct.unpack_from(f"<{argc}Q", descriptors, at + 32)
                rest, texts = at + 32 + 8 * argc, []
                for size in lengths:
                    texts.append(bytes(descriptors[rest : rest + size]).decode(errors="replace"))
                    rest += size
                site = (texts[0], texts[1], line, level, codes, texts[3].split("\x1f"))
                self.sites[(address - starts[0]) // 8 if starts else -1] = site
            at += length if magic[:3] == b"BLF" and length >= 8 else 8


INTEGERS = {1: "B", 2: "H", 3: "I", 4: "Q", 6: "Q", 0x11: "b", 0x12: "h", 0x13: "i", 0x14: "q"}
INTEGERS |= {0x16: "q", 0x20: "?", 0x21: "I", 0x25: "Q", 0x26: "i", 0x40: "i", 0x41: "Q", 0x42: "q"}
SIZES = {5: 16, 0x15: 16, 0x22: 1, 0x23: 1, 0x24: 1, 0x27: 0, 0x43: 4, 0x44: 16}
TAILS = (0x22, 0x23, 0x24)


def fixed_size(code):
    kind = code & 0xFF
    if kind in INTEGERS:
        return struct.calcsize("<" + INTEGERS[kind])
    if kind == 0x28:
        return code >> 8 & 0xFFFF
    if kind == 0x30:
        return 1 + fixed_size(code >> 8)
    if kind == 0x31:
        return 1 + max(fixed_size(code >> 8), 4)
    if kind not in SIZES:
        raise ValueError(f"an argument of kind {kind:#x}")
    return SIZES[kind]


def has_tail(code):
    kind = code & 0xFF
    return kind in TAILS or (kind in (0x30, 0x31) and has_tail(code >> 8))


class Other(str):
    """Text that has no quotes in Debug."""


def value(code, raw, tail):
    kind, inner = code & 0xFF, code >> 8
    if kind in (0x22, 0x23):
        return tail.decode(errors="replace")
    if kind == 0x24:
        return list(tail)
    if kind in (0x28, 0x43, 0x44):
        return list(raw)
    if kind == 0x27:
        return ()
    if kind == 0x30 and raw[0] == 0:
        return Other("None")
    if kind == 0x31 and raw[0] != 0:
        return Other(f"Err(errno {-struct.unpack_from('<i', raw, 1)[0]})")
    if kind in (0x30, 0x31):
        return Other(f"{'Some' if kind == 0x30 else 'Ok'}({debug(value(inner, raw[1:], tail))})")
    if kind in (5, 0x15):
        return int.from_bytes(raw, "little", signed=kind == 0x15)
    (number,) = struct.unpack("<" + INTEGERS[kind], raw)
    if kind == 0x21:
        return chr(number)
    if kind in (0x20, 0x25, 0x26):
        shown = {0x20: str(bool(number)).lower(), 0x25: f"{number:#x}"}
        return Other(shown.get(kind, f"errno {-number}"))
    return number


def debug(found):
    if isinstance(found, str) and not isinstance(found, Other):
        return '"' + found.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(found)


def arguments(codes, payload):
    fixed = [fixed_size(code) for code in codes]
    budget = PAYLOAD_MAX - sum(fixed) - 2 * sum(map(has_tail, codes))
    found, at = [], 0
    for code, size in zip(codes, fixed):
        raw, tail = payload[at : at + size], b""
        at += size
        if has_tail(code):
            length = raw[-1]
            if length == 255:
                (length,) = struct.unpack_from("<H", payload, at)
                at += 2
            length = min(length, budget)
            budget -= length
            tail = payload[at : at + length]
            at += length
        found.append(value(code, raw, tail))
    return found


def formatted(form, names, args):
    out, at, next_arg = "", 0, 0
    while at < len(form):
        if form[at : at + 2] in ("{{", "}}"):
            out, at = out + form[at], at + 2
        elif form[at] != "{":
            out, at = out + form[at], at + 1
        else:
            end = form.index("}", at)
            name, _, spec = form[at + 1 : end].partition(":")
            at = end + 1
            if not name:
                name, next_arg = str(next_arg), next_arg + 1
            arg = args[int(name) if name.isdigit() else names.index(name)]
            if spec.endswith("?"):
                spec = spec[:-1].rstrip("#xX")
                arg = arg if isinstance(arg, int) else debug(arg)
            elif spec.endswith("p"):
                spec = spec[:-1].rstrip("#")
            elif not isinstance(arg, int):
                arg = str(arg)
            out += format(arg, spec)
    return out


def sections(data):
    at = data.index(b"BLSE") if b"BLSE" in data else len(data)
    while 0 <= at <= len(data) - 32:
        kind, length, crc, own = struct.unpack_from("<4xH2xQ8xII", data, at)
        payload = data[at + 32 : at + 32 + length]
        if own == zlib.crc32(data[at : at + 28]) and crc == zlib.crc32(payload):
            yield kind, payload
            at += 32 + (length + 7 & ~7)
        else:
            print("damage: a section is left out", file=sys.stderr)
            at = data.find(b"BLSE", at + 4)


def records(page):
    base, _, commit = struct.unpack_from("<QQQ", page, 24)
    at, end = 48, min(commit & 0xFFFFFFFF, len(page))
    while at + 8 <= end:
        (header,) = struct.unpack_from("<Q", page, at)
        stamp, site, size = header >> 28, header >> 10 & 0x3FFFF, header & 0x3FF
        payload = page[at + 8 : at + 8 + size]
        yield base >> 36 << 36 | stamp, site, payload
        if site == 0 and payload[:1] == b"\x01":
            (base,) = struct.unpack_from("<Q", payload, 4)
        at += 8 + size


def owner(context, cpu, pid, comm):
    return f"{text(comm)}/{pid}" if context == 0 else f"{CONTEXTS[context % 5]}/{cpu}"


def lines(data, elfs):
    """Each record and loss: its clock, and a line without the time."""
    by_id = {elf.build_id: elf.sites for elf in elfs}
    images, components, rings, seen = [], {}, {}, []
    for kind, payload in sections(data):
        if kind == 3:
            for at in range(0, len(payload), 96):
                first, count, _, size = struct.unpack_from("<4I", payload, at)
                sites = by_id.get(payload[at + 16 : at + 16 + size])
                images.append((first, count, sites, text(payload[at + 40 : at + 96])))
        elif kind == 4:
            (cleared,) = struct.unpack_from("<Q", payload, 152)
            components[struct.unpack_from("<I", payload)[0]] = (text(payload[96:152]), cleared)
        elif kind == 5:
            component, ring, context, cpu, pid = struct.unpack_from("<IIB3xIi", payload)
            rings[component, ring] = owner(context, cpu, pid, payload[24:40])
        elif kind == 6:
            seen.append((struct.unpack_from("<II", payload), payload[8:-8]))
    for key, page in seen:
        component, cleared = components.get(key[0], ("?", 0))
        who = rings.get(key, "?")
        for clock, site, payload in records(page):
            if site == 0 and payload[:1] == b"\x02":
                word, count = struct.unpack_from("<IQ", payload)
                yield clock, f"{component} {who} {count} records were lost: {CAUSES[word >> 8 & 7]}"
            elif site == 0 and payload[:1] == b"\x03":
                word, pid = struct.unpack_from("<Ii", payload)
                who = owner(word >> 8 & 0xFF, word >> 16, pid, payload[12:28])
            if site == 0 or clock < cleared:
                continue
            image = next((i for i in images if i[0] <= site < i[0] + i[1]), None)
            if image is None or image[2] is None:
                level, of = 0, image[3] if image else "?"
                said = f"site {site} of {of}: no ELF file has this build"
            else:
                none = ("?", "?", 0, 0, (), [])
                form, file, line, level, codes, names = image[2].get(site - image[0], none)
                try:
                    said = formatted(form, names, arguments(codes, payload))
                except (ValueError, IndexError, struct.error) as error:
                    # As a type that this doesn't know; or addresses, which not all readers get
                    said = f"{file}:{line} {form} ({error})"
            yield clock, f"{component} {who} {LEVELS[level % 6]} {said}"


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    if data[:8] != b"BLOGSNAP" or data[12:16] != b"\4\3\2\1":
        sys.exit(f"{sys.argv[1]}: no snapshot of a little-endian machine")
    then, at, hz = 0, 0, 1_000_000_000
    for kind, payload in sections(data):
        if kind == 2 and len(payload) >= 56:
            (hz,) = struct.unpack_from("<Q", payload, 8)
            then, _, _, at = struct.unpack_from("<4Q", payload, len(payload) - 40)
    elfs = [Elf(path) for path in sys.argv[2:]]
    for clock, line in sorted(lines(data, elfs), key=lambda entry: entry[0]):
        real = at + (clock - then) * 1_000_000_000 // hz
        time = datetime.fromtimestamp(real // 1_000_000_000, timezone.utc)
        print(f"{time:%H:%M:%S}.{real % 1_000_000_000:09d} {line}")


if __name__ == "__main__":
    main()
