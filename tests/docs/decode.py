#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A decoder that was written from Documentation/blog/formats.rst and json.rst
alone, to check that they say enough, and say the truth.

usage: decode.py SNAPSHOT JSON TABLE...

Decodes SNAPSHOT with the side tables TABLE..., and compares each record with the
one in JSON, the output of blog-decode --json for the same snapshot: place in its
ring, clock, call site, and the value of each argument. It formats no messages.
Exit status: 0 all agree, 1 they don't, 2 wrong usage.
"""

import errno
import ipaddress
import json
import struct
import sys
import zlib

LEVELS = {1: "err", 2: "warn", 3: "info", 4: "debug", 5: "trace"}
# Kinds of plain numbers: format of struct, by formats.rst.
NUMBERS = {
    0x01: "B",
    0x02: "H",
    0x03: "I",
    0x04: "Q",
    0x06: "Q",
    0x11: "b",
    0x12: "h",
    0x13: "i",
    0x14: "q",
    0x16: "q",
    0x40: "i",
    0x41: "q",
    0x42: "q",
}
TAILS = (0x22, 0x23, 0x24, 0x29)


def pad8(n):
    return n + 7 & ~7


def text(raw):
    return raw.split(b"\0")[0].decode("utf-8", "replace")


def u(data, at, size):
    return int.from_bytes(data[at : at + size], "little")


# --- side tables -----------------------------------------------------------------


def read_table(path):
    """Build ID, types by code, sites by index."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"BLOGFMT\0" and u(data, 8, 2) == 1, "magic and version"
    assert zlib.crc32(data[:76]) == u(data, 76, 4), "checksum of the header"
    assert zlib.crc32(data[80:]) == u(data, 68, 4), "checksum"
    build_id = data[36 : 36 + u(data, 32, 4)]
    at = 80
    for _ in range(3):
        at += 2 + u(data, at, 2)
    at = pad8(at)
    types: dict = {}
    sites: list = []
    while at < len(data):
        magic, length = data[at : at + 4], u(data, at + 4, 4)
        d = data[at : at + length]
        if magic == b"BLFT":
            types[u(d, 8, 8)] = read_type(d)
        elif magic == b"BLFD":
            assert u(d, 8, 8) == len(sites), "sites are in order"
            sites.append(read_site(d))
        at += length
    assert len(sites) == u(data, 24, 4) and len(types) == u(data, 28, 4), "counts"
    return build_id, types, sites


def read_site(d):
    argc = d[21]
    lens = [u(d, 24 + 2 * i, 2) for i in range(4)]
    codes = [u(d, 32 + 8 * i, 8) for i in range(argc)]
    at, strings = 32 + 8 * argc, []
    for length in lens:
        strings.append(d[at : at + length].decode())
        at += length
    fmt, file, module, names = strings
    return {
        "line": u(d, 16, 4),
        "level": LEVELS[d[20]],
        "codes": codes,
        "format": fmt,
        "file": file,
        "module": module,
        "names": names.split("\x1f") if argc else [],
    }


def read_type(d):
    at = pad8(32 + u(d, 24, 2))
    variants = []
    for _ in range(u(d, 20, 4)):
        name_len, fields, shape = u(d, at, 2), u(d, at + 2, 2), d[at + 4]
        name = d[at + 8 : at + 8 + name_len].decode()
        at = pad8(at + 8 + name_len)
        members = []
        for _ in range(fields):
            length = u(d, at + 8, 2)
            members.append((d[at + 16 : at + 16 + length].decode(), u(d, at, 8)))
            at = pad8(at + 16 + length)
        variants.append((name, shape, members))
    return u(d, 16, 4), variants


# --- arguments ---------------------------------------------------------------------


def has_tail(code):
    return has_tail(code >> 8) if code & 0xFF in (0x30, 0x31) else code & 0xFF in TAILS


class Args:
    """The arguments of one record."""

    def __init__(self, payload, codes, types):
        self.payload, self.types = payload, types
        self.budget = 1023 - sum(self.fixed(c) + 2 * has_tail(c) for c in codes)
        self.at = self.cut = 0

    def fixed(self, code):
        kind, inner = code & 0xFF, code >> 8
        if kind in NUMBERS:
            return struct.calcsize(NUMBERS[kind])
        if kind == 0x28:
            return inner & 0xFFFF
        if kind == 0x30:
            return 1 + self.fixed(inner)
        if kind == 0x31:
            return 1 + max(4, self.fixed(inner))
        if kind == 0x50:
            is_enum, variants = self.types[code]
            sizes = [sum(self.fixed(c) for _, c in members) for _, _, members in variants]
            return 1 + max(sizes) if is_enum == 2 else sizes[0]
        if kind in TAILS:
            return 1
        return {
            0x05: 16,
            0x15: 16,
            0x20: 1,
            0x21: 4,
            0x25: 8,
            0x26: 4,
            0x27: 0,
            0x43: 4,
            0x44: 16,
            0x45: 6,
        }[kind]

    def next(self, code):
        """The next argument: its value, and how many bytes were cut off."""
        start, self.cut = self.at, 0
        # A tail stands behind all of the argument's fixed bytes.
        self.at += self.fixed(code)
        assert self.at <= len(self.payload), "payload too short"
        return self.value(code, start), self.cut

    def value(self, code, at):
        """What json.rst says that the value is."""
        kind, inner, p = code & 0xFF, code >> 8, self.payload
        if kind in NUMBERS:
            return struct.unpack_from("<" + NUMBERS[kind], p, at)[0]
        if kind in (0x05, 0x15):
            return int.from_bytes(p[at : at + 16], "little", signed=kind == 0x15)
        if kind == 0x20:
            return bool(p[at])
        if kind == 0x21:
            return chr(u(p, at, 4))
        if kind in TAILS:
            return self.tail(kind, p[at])
        if kind == 0x25:
            return hex(u(p, at, 8))
        if kind == 0x26:
            return self.error(at)
        if kind == 0x27:
            return None
        if kind == 0x28:
            return p[at : at + self.fixed(code)].hex()
        if kind == 0x30:
            return self.value(inner, at + 1) if p[at] else None
        if kind == 0x31:
            return {"err": self.error(at + 1)} if p[at] else {"ok": self.value(inner, at + 1)}
        if kind in (0x43, 0x44):
            return str(ipaddress.ip_address(p[at : at + self.fixed(code)]))
        if kind == 0x45:
            return p[at : at + 6].hex(":")
        if kind == 0x50:
            return self.derived(code, at)
        raise ValueError(f"kind {kind:#x}")

    def tail(self, kind, length):
        if length == 255:
            length = u(self.payload, self.at, 2)
            self.at += 2
        stored = min(length, self.budget)
        self.budget -= stored
        self.cut = length - stored
        self.at += stored
        assert self.at <= len(self.payload), "payload too short"
        raw = self.payload[self.at - stored : self.at]
        return raw.decode("utf-8", "replace") if kind in (0x22, 0x23) else raw.hex()

    def error(self, at):
        number = struct.unpack_from("<i", self.payload, at)[0]
        return {"errno": number, "name": errno.errorcode.get(-number)}

    def derived(self, code, at):
        kind, variants = self.types[code]
        if kind == 2:
            variants, at = variants[self.payload[at] :], at + 1
        name, shape, members = variants[0]
        values = []
        for field, inner in members:
            values.append((field, self.value(inner, at)))
            at += self.fixed(inner)
        if shape == 0:
            return name
        content = [v for _, v in values] if shape == 1 else dict(values)
        return {name: content} if kind == 2 else content


# --- the snapshot ------------------------------------------------------------------


def sections(data):
    assert data[:8] == b"BLOGSNAP" and u(data, 12, 4) == 0x01020304, "magic and endianness"
    assert zlib.crc32(data[:28]) == u(data, 28, 4), "checksum of the file header"
    at = u(data, 20, 4)
    while at < len(data):
        header = data[at : at + 32]
        assert header[:4] == b"BLSE" and zlib.crc32(header[:28]) == u(header, 28, 4)
        length = u(header, 8, 8)
        payload = data[at + 32 : at + 32 + length]
        assert zlib.crc32(payload) == u(header, 24, 4), "checksum of a section"
        yield u(header, 4, 2), payload
        at = pad8(at + 32 + length)


def records(data):
    """Component, ring, ordinal, clock, site id and payload of each record; and images."""
    names, images, out = {}, [], []
    for kind, p in sections(data):
        if kind == 3:
            for at in range(0, len(p), 96):
                i = p[at : at + 96]
                images.append((u(i, 0, 4), u(i, 4, 4), i[16 : 16 + u(i, 12, 4)]))
        elif kind == 4:
            names[u(p, 0, 4)] = text(p[96:152])
        elif kind == 6:
            out += page_records(names[u(p, 0, 4)], u(p, 4, 4), p[8:])
    return images, out


def page_records(component, ring, page):
    high, ordinal = u(page, 24, 8), u(page, 32, 8)
    end, count = u(page, 40, 4), u(page, 44, 4)
    at, out = 48, []
    while at < end:
        word = u(page, at, 8)
        ts, site, size = word >> 28, word >> 10 & 0x3FFFF, word & 0x3FF
        payload = page[at + 8 : at + 8 + size]
        if site:
            out.append((component, ring, ordinal, high & ~0xFFFFFFFFF | ts, site, payload))
            ordinal += 1
        elif payload[0] == 1:
            high = u(payload, 4, 8)
        at += 8 + size
    assert at == end and len(out) == count, "a page holds what its header says"
    return out


def main():
    if len(sys.argv) < 4:
        print(__doc__)
        return 2
    tables = {t[0]: t[1:] for t in map(read_table, sys.argv[3:])}
    with open(sys.argv[1], "rb") as f:
        images, mine = records(f.read())
    theirs = {}
    with open(sys.argv[2], encoding="utf-8") as f:
        for line in map(json.loads, f):
            if line["type"] == "record":
                theirs[line["component"], line["ring"], line["ordinal"]] = line
    failed = abs(len(mine) - len(theirs))
    if failed:
        print(f"{len(mine)} records by the page, {len(theirs)} by blog-decode")
    for component, ring, ordinal, clock, site_id, payload in mine:
        first, _, build_id = next(i for i in images if i[0] <= site_id < i[0] + i[1])
        types, sites = tables[build_id]
        site = sites[site_id - first]
        args, got = Args(payload, site["codes"], types), []
        for name, code in zip(site["names"], site["codes"]):
            value, cut = args.next(code)
            got.append({"name": name, "value": value} | ({"cut": cut} if cut else {}))
        their = theirs.get((component, ring, ordinal), {})
        said = {k: site[k] for k in ("line", "level", "format", "file", "module")}
        said |= {"clock": clock, "site": site_id, "args": got}
        real = {k: their.get(k) for k in said}
        real["args"] = [{k: v for k, v in a.items() if k != "type"} for a in their.get("args", [])]
        if said != real:
            failed += 1
            print(f"by the page {said}\nby blog-decode {real}")
    values = sum(len(r["args"]) for r in theirs.values())
    print(f"decode: {len(mine)} records, {values} arguments, {failed} differ")
    return 1 if failed or not mine else 0


if __name__ == "__main__":
    sys.exit(main())
