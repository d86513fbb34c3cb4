#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compares tables of Documentation/blog with the sources: formats.rst down to the bit, in
admin-guide.rst the files in debugfs and the keys in them, in json.rst the keys that
blog-decode prints; and its options; in drivers-rust.rst the compile errors, against
tests/ui/cases.

usage: formats.py [SNAPSHOT JSON TABLE...]

A page marks each table that can be checked with a comment ".. layout: KIND ARGUMENT". Of each,
the sources must have the same rows of cells, no more and no fewer. And a decoder that was written
from formats.rst and json.rst alone, and takes its numbers from their tables, must make of the
golden snapshot what blog-decode makes of it: of each record its place in its ring, clock, call
site, and the value of each argument; and what was lost. With arguments, the decoder alone is
tried: with SNAPSHOT, side tables, and blog-decode's --json.

Exit status: 0 all is true, 1 something differs.
"""

import errno
import ipaddress
import json
import re
import struct
import sys
import zlib
from collections import Counter
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
NAMES = ("formats", "admin-guide", "decode", "json", "drivers-rust")
PAGES = [TOP / f"Documentation/blog/{name}.rst" for name in NAMES]
WIRE = TOP / "rust/kernel/blog/wire"
GOLDEN = TOP / "tools/blog-decode/tests/golden/expected"
SAMPLE = [GOLDEN / name for name in ("new.snap", "json.txt", "golden_mod.blogfmt")]

ALL_TABLES = set("""
bits record::Header, const record, enum record::Control, enum record::Lost, names record::Lost,
enum record::Level, enum record::Context, codes types, enum types::Privacy, const types, const pack,
example, const page, const words, struct page::PageInfo, const file, struct file::FileHeader,
struct file::SectionHeader,
enum file::Kind, struct file::System, struct file::Clock, enum file::ClockKind,
struct file::ClockPair, struct file::Image, struct file::Task, struct file::ComponentSection,
struct file::RingSection, struct file::Page, struct hits::Counts, struct file::End, const persist,
struct persist::Region, struct persist::Facts, const map, struct map::Meta, const ring,
struct ring::RingHead, cstruct blog_site, site, type,
variant, field, table, files GLOBAL, files COMPONENT, keys show_global, keys show_component, json,
options, messages""".replace("\n", " ").strip().split(", "))  # fmt: skip


class Block:
    """What follows a layout comment: a table's rows, or text."""

    def __init__(self, kind, arg):
        self.kind, self.arg = kind, arg
        self.rows, self.text = [], []

    def __str__(self):
        return " ".join(filter(None, [self.kind, self.arg]))

    @property
    def size(self):
        return number(self.rows[-1][0]) + number(self.rows[-1][1])


def parse_page(text):
    blocks = []
    lines = text.split("\n")
    for at, line in enumerate(lines):
        m = re.match(r"\.\. layout: (\S+)(?: (\S+))?$", line)
        if not m:
            continue
        block = Block(m[1], m[2] or "")
        rest = lines[at + 2 :]
        if rest and re.match(r"=+ +=", rest[0]):
            block.rows = parse_table(rest)
        else:
            for text_line in rest:
                if re.match(r"[-=~.]{3,}|\.\. layout", text_line):
                    break
                block.text.append(text_line)
        blocks.append(block)
    return blocks


def parse_table(lines):
    """A simple table: the cells of each row, continuation lines joined."""
    starts = [m.start() for m in re.finditer("=+", lines[0])]
    rows, rules = [], 0
    for line in lines:
        if re.match(r"=+ +=", line):
            rules += 1
            if rules == 3:
                break
            continue
        cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None])]
        if rules == 2 and cells[0]:
            rows.append(cells)
        elif rules == 2:
            rows[-1][-1] += " " + cells[-1]
    return rows


# --- what the sources have: rows of cells, by kind of table -------------------------


def number(text):
    return int(text.replace("_", ""), 0)


def find(pattern, text, flags=0):
    """The match; there must be one."""
    found = re.search(pattern, text, flags)
    assert found, f"not found: {pattern}"
    return found


def wire(file):
    """Of the core, or of a part."""
    of_part = TOP / f"blog/parts/{file}/format.rs"
    return (of_part if of_part.exists() else WIRE / f"{file}.rs").read_text()


# Rust that Python evaluates in another form
PYTHON = (
    (r" as \w+|super::\w+::|^\*", ""),
    (r"u(\d+)::MAX", r"((1 << \1) - 1)"),
    (r"u32::from_le_bytes\(\*(.*)\)", r'int.from_bytes(\1, "little")'),
    (r"(\w+)::ALL\.len\(\)", r"len(enum('record::\1'))"),
)


def constants(file):
    """Type and value of each."""
    found = constants("record") if file == "types" else {}
    for name, kind, value in re.findall(
        r"^pub const (\w+): (?!Range)(.+) = (.+);", wire(file), re.M
    ):
        for rust, python in PYTHON:
            value = re.sub(rust, python, value)
        value = eval(value, globals(), {name: value for name, (_, value) in found.items()})
        found[name] = kind, value.decode() if isinstance(value, bytes) else value
    return {name: of for name, of in found.items() if f"const {name}:" in wire(file)}


def const(file):
    found = constants(file) | (constants("name") if file == "file" else {})
    # What is left out follows from a width, or is a row of "codes".
    kinds = [name for name, (kind, _) in found.items() if (file, kind) == ("types", "u8")]
    return [(n, v) for n, (_, v) in found.items() if n not in ("TS_MASK", "SEQ_MASK", *kinds)]


def codes(file):
    """Each kind: its code, its fixed bytes, and whether it has a tail."""
    columns: list = []
    for function in ("fixed_size", "has_tail"):
        pattern = rf"fn {function}\(self\).*?match self.kind\(\) \{{\n(.*?)\n        \}}"
        body = find(pattern, wire(file), re.S)[1]
        columns.append({})
        for names, is_ in re.findall(r"^ {12}(\w[\w |]+) => (.*)", body, re.M):
            columns[-1] |= dict.fromkeys(names.split(" | "), CELLS.get(is_, is_.rstrip(",")))
    fixed, tail = columns
    kinds = [(name, value) for name, (kind, value) in constants(file).items() if kind == "u8"]
    return [(name, value, fixed.get(name, "D"), tail.get(name, "")) for name, value in kinds]


CELLS = {
    "self.array_len(),": "N", "match self.inner().fixed_size() {": "1+T", "true,": "yes",
    "self.inner().has_tail(),": "T",
}  # fmt: skip


def enum(arg):
    """Variants with their numbers, and with their names if they have some."""
    file, name = arg.split("::")
    # By itself, or in a macro that defines it.
    macro = r"(?:named|numbered)! \{\n(?:    ///[^\n]*\n)*   "
    start = rf"(?:pub enum|{macro}) {name}(?:: u\d+, \w+)? \{{"
    body = find(start + r"(.*?)\n *\}", wire(file), re.S)[1]
    return re.findall(r'^ +(\w+) = (\d+)(?: "(.*)")?,', body, re.M)


def cstruct(name):
    header = (TOP / "include/linux/blog_call.h").read_text()
    body = find(rf"struct {name} \{{\n(.*?)\n\}}", header, re.S)[1]
    rows, at = [], 0
    for bits, field in re.findall(r"^\s*u(\d+)\s+(\w+);", body, re.M):
        rows.append((at, int(bits) // 8, field))
        at += rows[-1][1]
    return rows


def bits(_):
    """The clock in the high bits, the length in the low ones."""
    rows, at = [], 64
    for field, width in ("ts", "TS_BITS"), ("site", "SITE_BITS"), ("len", "LEN_BITS"):
        below = at - constants("record")[width][1]
        rows.append((f"{at - 1}...{below}", field))
        at = below
    return rows


def parts():
    """The sources of what can be left out of the kernel side."""
    return "".join(path.read_text() for path in sorted((TOP / "blog/parts").glob("*/mod.rs")))


def files(name):
    source = (TOP / "blog/files/mod.rs").read_text()
    body = find(rf"(?:const|static) {name}: \[.*?= \[\n(.*?)\n\];", source, re.S)[1]
    more = parts() if name == "COMPONENT" else ""
    body += "\n".join(re.findall(r"    files: &\[(.*?)\n    \}\],", more, re.S))
    settings = (TOP / "blog/registry/settings.rs").read_text()
    rows = [("NAME/", "")]
    if name == "COMPONENT":
        rows = [(row, "rw") for row in re.findall(r'number\(Key::\w+, c"(\w+)"', settings)]
    for entry in re.split(r"\bFileOf \{\n", body)[1:]:
        access = ("r" if "show: " in entry else "") + ("w" if "write: " in entry else "")
        rows.append((find(r'name: c"(\w+)"', entry)[1], access))
    binary = [find(f'{file}: &CStr = c"(\\w+)"', source)[1] for file in ("SNAPSHOT", "STREAM")]
    binary += re.findall(r'Folder::Component\.add::<\w+>\(c"(\w+)"', more)
    return rows + [(file, "r") for file in binary]


def keys(function):
    source = (TOP / "blog/files/stats.rs").read_text()
    body = find(rf"fn {function}\(.*?\n\}}", source, re.S)[0]
    if function == "show_component":
        body += "\n".join(re.findall(r"^fn stats\(.*?^\}", parts(), re.M | re.S))
    found = re.findall(r'\((?:f, )?"(\w+)(?:",| ?\{)', body)
    lost = ["lost_" + name.replace("-", "_") for *_, name in enum("record::Lost")]
    return [(name,) for key in found for name in (lost if key == "_" else [key])]


# Those with JSON of their own.
COMMANDS = ("stats", "sites", "spans", "count", "check")


def json_keys(_):
    found = set()
    decoder = TOP / "tools/blog-decode"
    crates = ("crates/decode/src/output/json.rs", "crates/answers/src/accounts.rs")
    for file in (*crates, *(f"src/cli/{f}.rs" for f in COMMANDS)):
        source = (decoder / file).read_text().split("#[cfg(test)]")[0]
        found |= set(
            re.findall(r'\.(?:text|number|maybe|key|wide|json)\("(\w+)"|"(\w+_ns)"', source)
        )
        found |= {(key, "") for key in re.findall(r'\\"(\w+)\\":', source)}
    table = (decoder / "crates/decode/src/sidetable.rs").read_text()
    place = find(r"fn place\(.*?\n    \}", table, re.S)[0]
    found |= {(key, "") for key in re.findall(r'\("(\w+)", &self', place)}
    return {(key or ns,) for key, ns in found}


def options(_):
    folder = TOP / "tools/blog-decode/src/cli/args"
    source = "\n".join(path.read_text() for path in sorted(folder.iterdir()))
    rows = []
    structs = "Input TablePaths Filters Around Logs Output Show Jobs Cli"
    for struct_ in structs.split():
        body = find(rf"pub struct {struct_} \{{\n(.*?)\n\}}", source, re.S)[1]
        for arg, name in re.findall(r"#\[arg\((.*?)\)\]\n    (?:pub )?(\w+):", body, re.S):
            value = re.search(r'value_name = "(.*?)"', arg)
            short = re.search(r"\bshort(?: = '(.)')?", arg)
            if has_long := re.search(r'\blong(?: = "(.*?)")?', arg):
                long = has_long[1] or name.replace("_", "-")
                letter = f"-{short[1] or long[0]}, " if short else ""
                rows.append((f"{letter}--{long}" + (f" {value[1]}" if value else ""),))
    return rows


# --- comparing -----------------------------------------------------------------

# For each kind of table, how many columns are compared, and with what
SOURCES = {
    "bits": (2, bits), "const": (2, const), "enum": (2, enum), "codes": (4, codes),
    "cstruct": (3, cstruct), "files": (2, files), "keys": (1, keys),
    "json": (1, json_keys), "options": (1, options), "names": (3, enum),
}  # fmt: skip
# Written by hand in formats.rst alone. The decoder shows what each byte means.
BYTES = ("site", "place", "type", "variant", "field", "table")


def plain(cell):
    """A number, however it is written, or text."""
    cell = str(cell).strip('"')
    return number(cell) if re.fullmatch(r"0x[0-9a-f_]+|\d+", cell) else cell


def said(b, columns):
    if b.kind == "names":
        return [row[:2] + (name,) for row, name in zip(enum(b.arg), literals(b), strict=True)]
    if b.kind == "json":
        return [(key,) for row in b.rows for key in row[0].split(", ")]
    return [row[:columns] if row[0] != "NAME/" else ("NAME/", "") for row in b.rows]


def literals(b):
    return re.findall("``([^`]+)``", "\n".join(b.text))


def need(errors, what, said, real):
    if said != real:
        errors.append(f"{what}: by the page it is {said!r}, but it is {real!r}")


def compare(blocks):
    """What differs: a table's cells are those that the sources have, no more and no fewer."""
    errors = [f'the table "{name}" is gone' for name in sorted(ALL_TABLES - set(map(str, blocks)))]
    tables: dict = {}
    for b in blocks:
        if b.kind in SOURCES:
            rows = said(b, SOURCES[b.kind][0])
            tables.setdefault((b.kind, b.arg), []).extend(rows)
        elif b.kind in BYTES:
            compare_bytes(b, errors)
        elif b.kind == "messages":
            compare_messages(b, errors)
    for (kind, arg), rows in tables.items():
        columns, source = SOURCES[kind]
        theirs = {tuple(map(plain, row)) for row in rows}
        ours = {tuple(map(plain, row[:columns])) for row in source(arg)}
        wrong, right = (sorted(map(str, rows)) for rows in (theirs - ours, ours - theirs))
        need(errors, f"{kind} {arg}", wrong, right)
    # What the tables say of bytes must be right before one can decode by it.
    return errors or Decoder(blocks).compare_example() or Decoder(blocks).compare(*SAMPLE)


def compare_messages(b, errors):
    real = "\n".join(path.read_text() for path in sorted((TOP / "tests/ui/cases").iterdir()))
    terms = [t for line in b.text if line.startswith("``") for t in re.split(r", (?=``)", line)]
    if not terms:
        errors.append(f"{b}: there are none")
    for term in terms:
        pattern = re.escape(term[2:-2]).replace("`X`", "`[^`]+`").replace("<X>", "<[^`]+>")
        pattern = pattern.replace(r"`\{\}`", r"`\{[^`]*\}`")
        if not re.search(r"\^ [^\n]*" + pattern, real):
            errors.append(f"{b}: no test of the compiler's messages has {term}")


def compare_bytes(b, errors):
    """Rows cover everything, without gap or overlap."""
    end = 0
    for row in b.rows:
        need(errors, f"{b}: offset of {row[2]}", number(row[0]), end)
        end = number(row[0]) + number(row[1])
    for value, name in re.findall(r"(0x[0-9a-f]{8}), \"(\w{4})\"", " ".join(r[3] for r in b.rows)):
        need(errors, f"{b}: magic", name.encode(), number(value).to_bytes(4, "little"))


# --- the decoder -------------------------------------------------------------------


def pad8(n):
    return n + 7 & ~7


def text(raw):
    return raw.split(b"\0")[0].decode("utf-8", "replace")


def u(data, at, size):
    return int.from_bytes(data[at : at + size], "little")


class Layout:
    """Bytes by the rows of a table: data["field"] as bytes, data.field as a number."""

    def __init__(self, block, data, at=0):
        self.data, self.at, self.size = data, at, block.size
        self.rows = {r[2]: (number(r[0]), number(r[1])) for r in block.rows}
        assert at + self.size <= len(data), f"{block}: cut off"

    def __getitem__(self, name):
        offset, size = self.rows[name]
        return self.data[self.at + offset : self.at + offset + size]

    def __getattr__(self, name):
        return int.from_bytes(self[name], "little")


class Decoder:
    """Decodes by the numbers of the page's tables."""

    def __init__(self, blocks):
        self.tables = {str(b): b for b in reversed(blocks)}
        rows = self.rows
        self.kinds = {number(value): name for name, value, *_ in rows("codes types")}
        self.fixed_sizes = {name: fixed for name, _, fixed, *_ in rows("codes types")}
        self.tails = {name for name, _, _, tail, *_ in rows("codes types") if tail == "yes"}
        self.bits = {r[1]: [int(n) for n in r[0].split("...")] for r in rows("bits record::Header")}
        self.levels = {number(r[1]): r[0].lower() for r in rows("enum record::Level")}
        self.privacy = {number(r[1]): r[0] for r in rows("enum types::Privacy")}
        self.control = {number(r[1]): r[0] for r in rows("enum record::Control")}
        causes = re.findall("``([^`]+)``", "\n".join(self.tables["names record::Lost"].text))
        self.causes = {number(r[1]): n for r, n in zip(rows("enum record::Lost"), causes)}
        self.const = {r[0]: r[1] for b in blocks if b.kind == "const" for r in b.rows}
        self.header_size = number(self.const["PAGE_HEADER_SIZE"])

    def rows(self, table):
        return self.tables[table].rows

    def layout(self, table, data, at=0):
        return Layout(self.tables[table], data, at)

    def read_table(self, path):
        """Build ID, types by code, sites by index."""
        data = path.read_bytes()
        t = self.layout("table", data)
        assert t["magic"] == b"BLOGFMT\0" and t.version == 1 and t.endian == 1, "magic and version"
        assert t.pointer_size == 8 and t.header_size == t.size and t.reserved == 0
        assert t.crc == zlib.crc32(data[: t.rows["crc"][0]]), "checksum of the header"
        assert t.body_crc == zlib.crc32(data[t.size :]) and t.file_size == len(data), "checksum"
        at = t.size
        for _ in range(3):
            at += 2 + u(data, at, 2)
        at = pad8(at)
        types: dict = {}
        sites: list = []
        while at < len(data):
            d = self.layout("type", data, at)
            if d["magic"] == b"BLFT":
                types[d.code] = self.read_type(d)
            elif d["magic"] == b"BLFP":
                d = self.layout("place", data, at)
                assert d.site == len(sites) - 1 and d.code == 0 and d.reserved == 0, "of a site"
            else:
                d = self.layout("site", data, at)
                assert d["magic"] == b"BLFD" and d.site == len(sites), "sites are in order"
                sites.append(self.read_site(d))
            at += d.length
        assert at == len(data) and len(sites) == t.sites and len(types) == t.types, "counts"
        return t["build_id"][: t.build_id_len], types, sites

    def read_site(self, d):
        assert d.flags in (0, 1) and d.version == 1 + d.flags
        at, size = d.at + d.rows["codes"][0], d.rows["codes"][1]
        codes = [u(d.data, at + size * i, size) for i in range(d.argc)]
        at, strings = at + size * d.argc, []
        for length in (d.format_len, d.file_len, d.module_len, d.names_len):
            strings.append(d.data[at : at + length].decode())
            at += length
        assert pad8(at) == d.at + d.length, "length of a site"
        said = {"line": d.line, "level": self.levels[d.level]}
        said |= dict(zip(("format", "file", "module"), strings))
        return said, list(zip(strings[3].split("\x1f"), codes))

    def read_type(self, d):
        def name(at, length):
            return d.data[at : at + length].decode(), pad8(at + length)

        _, at = name(d.at + d.size, d.name_len)
        variants = []
        for _ in range(d.variants):
            v = self.layout("variant", d.data, at)
            assert v.pad == 0
            variant, at = name(at + v.size, v.name_len)
            members = []
            for _ in range(v.fields):
                f = self.layout("field", d.data, at)
                assert f.pad == 0
                field, at = name(at + f.size, f.name_len)
                members.append((field, f.code))
            variants.append((variant, v.shape, members))
        assert d.pad == 0 and at == d.at + d.length, "length of a type"
        return d.kind, variants

    def sections(self, data):
        head = self.layout("struct file::FileHeader", data)
        assert head["magic"] == self.const["FILE_MAGIC"].strip('"').encode(), "magic"
        assert head.endian == number(self.const["ENDIAN"]), "byte order"
        assert head.crc == zlib.crc32(data[: head.rows["crc"][0]]), "checksum of the file header"
        kinds = {number(r[1]): r[0] for r in self.rows("enum file::Kind")}
        at = head.header_size
        while at < len(data):
            s = self.layout("struct file::SectionHeader", data, at)
            assert s.magic == number(self.const["SECTION_MAGIC"]), "magic of a section"
            assert s.crc == zlib.crc32(data[at : at + s.rows["crc"][0]]), "checksum of its header"
            at += s.size
            payload = data[at : at + s.len]
            assert zlib.crc32(payload) == s.payload_crc, "checksum of a section"
            yield kinds[s.kind], payload
            at = pad8(at + s.len)

    def snapshot(self, path):
        """Images; each record; and sums of losses."""
        names: dict = {}
        images: list = []
        records: list = []
        lost: Counter = Counter()
        for kind, p in self.sections(path.read_bytes()):
            if kind == "Images":
                size = self.tables["struct file::Image"].size
                images += [
                    self.layout("struct file::Image", p, at) for at in range(0, len(p), size)
                ]
            elif kind == "Component":
                # Before version 3, there is no time of a clear at its end.
                size = self.tables["struct file::ComponentSection"].size
                c = self.layout("struct file::ComponentSection", p.ljust(size, b"\0"))
                names[c.id] = text(c["name"])
            elif kind == "Ring":
                # What its lost records don't tell of came after the last record.
                r = self.layout("struct file::RingSection", p)
                for n, cause in self.causes.items():
                    more = u(r["lost"], 8 * n, 8) - u(r["told"], 8 * n, 8)
                    lost[names[r.component], r.ring, cause] += more
            elif kind == "Page":
                section = self.layout("struct file::Page", p)
                where = names[section.component], section.ring
                records += self.page(where, p[section.size :], lost)
        return images, records, lost

    def part(self, word, field):
        high, low = self.bits[field]
        return word >> low & ((1 << high - low + 1) - 1)

    def page(self, where, page, lost):
        """Component, ring, ordinal, clock, site and payload of each record."""
        info = self.layout("struct page::PageInfo", page)
        assert info.magic == number(self.const["PAGE_MAGIC"]), "magic of a page"
        base, ordinal = info.base, info.first
        at, end, count = self.header_size, info.commit & 0xFFFFFFFF, info.commit >> 32
        low = (1 << number(self.const["TS_BITS"])) - 1
        while at < end:
            word = u(page, at, 8)
            at += number(self.const["HEADER_SIZE"])
            payload = page[at : at + self.part(word, "len")]
            at += len(payload)
            if site := self.part(word, "site"):
                yield *where, ordinal, base & ~low | self.part(word, "ts"), site, payload
                ordinal += 1
            elif self.control.get(payload[0]) == "TimeExtend":
                base = u(payload, 4, 8)
            elif self.control.get(payload[0]) == "Lost":
                lost[*where, self.causes[payload[1]]] += u(payload, 4, 8)
        assert at == end and ordinal == info.first + count, "a page holds what its header says"

    def compare_example(self):
        """The bytes of "Example" are what its text says."""
        errors: list = []
        lines = [line[:30] for line in self.tables["example"].text if line[:5].strip()]
        raw = bytes.fromhex("".join(re.findall(r"\b[0-9a-f]{2}\b(?= |$)", "\n".join(lines))))
        word, payload = u(raw, 0, 8), raw[8:]
        parts = [self.part(word, field) for field in ("ts", "site", "len")]
        need(errors, "header of the example", parts, [0x23456789A, 0x123, len(payload)])
        by_name = {name: code for code, name in self.kinds.items()}
        args = Args(self, payload, [by_name[name] for name in ("U32", "STR", "BOOL")], {})
        told = [args.next("x", by_name[name]) for name in ("U32", "STR", "BOOL")]
        real: list = [{"value": 7}, {"text": "ok"}, {"value": 1, "text": "true"}]
        need(errors, "arguments of the example", told, [{"name": "x"} | value for value in real])
        need(errors, "length of the example", args.at, len(payload))
        return errors

    def compare(self, snapshot, lines, *tables):
        """What differs from what blog-decode says."""
        read = {t[0]: t[1:] for t in map(self.read_table, tables)}
        images, mine, lost = self.snapshot(snapshot)
        errors: list = []
        theirs, their_lost = {}, Counter[tuple]()
        for line in map(json.loads, lines.read_text().splitlines()):
            if line["type"] == "record":
                theirs[line["component"], line["ring"], line["ordinal"]] = line
            elif line["type"] == "lost" and line["cause"] != "overwritten":
                their_lost[line["component"], line["ring"], line["cause"]] += line["count"]
        need(errors, "number of records", len(mine), len(theirs) or None)
        need(errors, "losses", +lost, their_lost)
        for component, ring, ordinal, clock, site_id, payload in mine:
            image = next(i for i in images if i.first <= site_id < i.first + i.count)
            their = theirs.get((component, ring, ordinal), {})
            said = {"clock": clock, "site": site_id}
            real = {k: their.get(k) for k in said}
            if found := read.get(image["build_id"][: image.build_id_len]):
                types, sites = found
                site, names = sites[site_id - image.first]
                args = Args(self, payload, [code for _, code in names], types)
                said |= site | {"args": [args.next(name, code) for name, code in names if code]}
                real = {k: their.get(k) for k in said}
                real["args"] = [{k: a[k] for k in a if k != "type"} for a in their.get("args", [])]
            need(errors, f"record {ordinal} of {component}/{ring}", said, real)
        return errors


# How json.rst has plain numbers, as formats of struct
NUMBERS = {
    "U8": "B", "U16": "H", "U32": "I", "U64": "Q", "USIZE": "Q", "I8": "b", "I16": "h", "I32": "i",
    "I64": "q", "ISIZE": "q", "PID": "i", "INSTANT": "q", "DELTA": "q",
}  # fmt: skip


class Args:
    """The arguments of one record."""

    def __init__(self, decoder, payload, codes, types):
        self.decoder, self.payload, self.types = decoder, payload, types
        tails = sum(2 * self.has_tail(code) for code in codes)
        most = number(decoder.const["MAX_PAYLOAD"])
        self.budget = most - sum(map(self.fixed, codes)) - tails
        self.at = self.cut = 0

    def kind(self, code):
        return self.decoder.kinds[code & 0xFF]

    def has_tail(self, code):
        if self.kind(code) in ("OPTION", "RESULT", "PRIVATE"):
            return self.has_tail(code >> 8)
        return self.kind(code) in self.decoder.tails

    def fixed(self, code):
        kind, inner = self.kind(code), code >> 8
        if kind == "BYTE_ARRAY":
            return inner & 0xFFFF
        if kind in ("OPTION", "RESULT"):
            return 1 + max(4 * (kind == "RESULT"), self.fixed(inner))
        if kind == "PRIVATE":
            return 1 + max(number(self.decoder.const["PRIVATE_HASH"]), self.fixed(inner))
        if kind == "DERIVED":
            is_enum, variants = self.types[code]
            sizes = [sum(self.fixed(c) for _, c in members) for _, _, members in variants]
            return 1 + max(sizes) if is_enum == 2 else sizes[0]
        return number(self.decoder.fixed_sizes[kind])

    def next(self, name, code):
        """The next argument, as JSON has it."""
        start, self.cut = self.at, 0
        # A tail stands after all of the argument's fixed bytes.
        self.at += self.fixed(code)
        assert self.at <= len(self.payload), "payload too short"
        value = self.value(code, start)
        return {"name": name} | value | ({"cut": self.cut} if self.cut else {})

    def value(self, code, at):
        """What json.rst says that its value, text and fields are."""
        kind, inner, p = self.kind(code), code >> 8, self.payload
        if kind in NUMBERS:
            return self.integer(struct.unpack_from("<" + NUMBERS[kind], p, at)[0])
        if kind in self.decoder.tails:
            return {"text": self.tail(kind, p[at])}
        if kind == "OPTION":
            return self.value(inner, at + 1) if p[at] else {}
        if kind == "RESULT":
            return self.error(at + 1) if p[at] else self.value(inner, at + 1) or {"text": "Ok"}
        if kind == "PRIVATE":
            if self.decoder.privacy[p[at]] == "Keep":
                return self.value(inner, at + 1)
            is_hash = self.decoder.privacy[p[at]] == "Hash"
            return {"text": f"<private {u(p, at + 1, 8):016x}>" if is_hash else "<private>"}
        if kind == "DERIVED":
            return self.derived(code, at)
        raw = p[at : at + self.fixed(code)]
        whole = int.from_bytes(raw, "little", signed=kind == "I128")
        if kind in ("U128", "I128"):
            return self.integer(whole)
        if kind == "BOOL":
            return {"value": whole, "text": "true" if whole else "false"}
        if kind in ("UNIT", "ERROR"):
            return self.error(at) if kind == "ERROR" else {}
        text = {
            "CHAR": lambda: chr(whole), "POINTER": lambda: hex(whole), "BYTE_ARRAY": raw.hex,
            "MAC": lambda: raw.hex(":"), "IPV4": lambda: str(ipaddress.ip_address(raw)),
            "IPV6": lambda: str(ipaddress.ip_address(raw)),
        }[kind]()  # fmt: skip
        return {"text": text}

    def integer(self, n):
        return {"value": n} if -(1 << 63) <= n < 1 << 63 else {"text": str(n)}

    def tail(self, kind, length):
        if length == number(self.decoder.const["LONG"]):
            length = u(self.payload, self.at, 2)
            self.at += 2
        stored = min(length, self.budget)
        self.budget -= stored
        self.cut = length - stored
        self.at += stored
        assert self.at <= len(self.payload), "payload too short"
        raw = self.payload[self.at - stored : self.at]
        return raw.decode("utf-8", "replace") if kind in ("STR", "CSTR") else raw.hex()

    def error(self, at):
        code = struct.unpack_from("<i", self.payload, at)[0]
        name = errno.errorcode.get(-code)
        return {"value": code} | ({"text": name} if name else {})

    def derived(self, code, at):
        kind, variants = self.types[code]
        if kind == 2:
            variants, at = variants[self.payload[at] :], at + 1
        name, shape, members = variants[0]
        fields = []
        for i, (field, inner) in enumerate(members):
            fields.append({"name": str(i) if shape == 1 else field} | self.value(inner, at))
            at += self.fixed(inner)
        return {"text": name} | ({"fields": fields} if fields else {})


def main():
    blocks = parse_page("\n".join(page.read_text() for page in PAGES))
    args = [Path(arg) for arg in sys.argv[1:]]
    errors = Decoder(blocks).compare(*args) if args else compare(blocks)
    for e in errors:
        print(e)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
