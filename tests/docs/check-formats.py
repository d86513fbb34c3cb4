#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compares tables of Documentation/blog with the sources: formats.rst down to
the bit, in admin-guide.rst the files in debugfs and the keys in them, in json.rst
the keys that blog-decode prints; and its options; in driver-guide.rst the
compile errors, against tests/ui/cases.

usage: check-formats.py [--self-test]

A page marks each table that can be checked with a comment ".. layout: KIND
ARGUMENT". The tables say what to ask; layout.rs, compiled with the real .rs
files, answers; samples which the real encoders made are taken apart by the
page's offsets alone. --self-test changes every number of every such table, one
at a time, and fails if a change goes unnoticed.

Exit status: 0 all is true, 1 something differs, 2 the sources do not compile.
"""

import os
import re
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PAGES = [
    os.path.join(TOP, "Documentation/blog", name)
    for name in ("formats.rst", "admin-guide.rst", "decode.rst", "json.rst", "driver-guide.rst")
]
WIRE = os.path.join(TOP, "rust/kernel/blog/wire")
TASK_PATCH = os.path.join(TOP, "patches/task_struct-blog-tls.patch")

# Constants of the sources that need no row: masks that follow from a width.
NOT_IN_TABLES = {("record", "TS_MASK"), ("page", "SEQ_MASK")}
ALL_TABLES = {
    "bits record::Header",
    "const record",
    "enum record::Control",
    "enum record::Lost",
    "names record::Lost",
    "enum record::Level",
    "enum record::Context",
    "codes types",
    "const types",
    "example",
    "const page",
    "struct page::PageInfo",
    "const file",
    "struct file::FileHeader",
    "struct file::SectionHeader",
    "enum file::Kind",
    "struct file::System",
    "struct file::Clock",
    "enum file::ClockKind",
    "struct file::ClockPair",
    "struct file::Image",
    "struct file::Task",
    "struct file::Component",
    "struct file::Ring",
    "struct file::Page",
    "struct file::End",
    "cstruct blog_site",
    "site",
    "type",
    "variant",
    "field",
    "table",
    "files GLOBAL",
    "files COMPONENT",
    "keys show_global",
    "keys show_component",
    "json",
    "options",
    "messages",
}


class Block:
    """What follows a layout comment: a table's rows, or text."""

    def __init__(self, kind, arg, line):
        self.kind, self.arg, self.line = kind, arg, line
        self.rows = []
        self.text = []

    def __str__(self):
        return " ".join(filter(None, [self.kind, self.arg]))


def parse_page(text):
    blocks = []
    lines = text.split("\n")
    for at, line in enumerate(lines):
        m = re.match(r"\.\. layout: (\S+)(?: (\S+))?$", line)
        if not m:
            continue
        block = Block(m[1], m[2] or "", at + 1)
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
        ends = starts[1:] + [None]
        cells = [line[a:b].strip() for a, b in zip(starts, ends)]
        if rules == 2 and cells[0]:
            rows.append(cells)
        elif rules == 2:
            rows[-1][-1] += " " + cells[-1]
    return rows


# --- asking the sources ------------------------------------------------------


def questions(blocks):
    """Rust code that prints one fact for each claim."""
    out = ["pub fn print() {"]
    for b in blocks:
        for row in b.rows:
            if b.kind == "struct":
                name = row[2]
                out.append(f'say("offset.{b.arg}.{name}", std::mem::offset_of!({b.arg}, {name}));')
                out.append(f'say("size.{b.arg}.{name}", field_size(|t: &{b.arg}| &t.{name}));')
            elif b.kind == "enum":
                out.append(f'say("{b.arg}::{row[0]}", {b.arg}::{row[0]} as u64);')
            elif b.kind == "const" and row[1].startswith('"'):
                out.append(
                    f'say("{b.arg}::{row[0]}", String::from_utf8_lossy(&{b.arg}::{row[0]}));'
                )
            elif b.kind == "const":
                out.append(f'say("{b.arg}::{row[0]}", {b.arg}::{row[0]} as u128);')
            elif b.kind == "codes":
                out += code_questions(row[0])
        if b.kind == "struct":
            out.append(f'say("sizeof.{b.arg}", size_of::<{b.arg}>());')
    return "\n".join(out + ["}"])


def code_questions(kind):
    """Value, fixed size and tail of a kind; for OPTION and RESULT around T."""
    code = {
        "OPTION": "types::TypeCode::plain(types::{}).wrapped(types::OPTION).unwrap()",
        "RESULT": "types::TypeCode::plain(types::{}).wrapped(types::RESULT).unwrap()",
        "BYTE_ARRAY": "types::TypeCode::byte_array(37).unwrap()",
    }.get(kind, "types::TypeCode::plain(types::" + kind + ")")
    out = [f'say("types::{kind}", types::{kind});']
    for inner in ["U64", "U8", "STR"]:
        c = code.format(inner)
        out.append(f'say("fixed.{kind}.{inner}", format_args!("{{:?}}", {c}.fixed_size()));')
        out.append(f'say("tail.{kind}.{inner}", {c}.has_tail());')
    return out


def facts_of(blocks):
    with tempfile.TemporaryDirectory() as tmp:
        facts = os.path.join(tmp, "facts.rs")
        with open(facts, "w", encoding="utf-8") as f:
            f.write(questions(blocks))
        program = os.path.join(tmp, "layout")
        build = subprocess.run(
            [
                os.environ.get("RUSTC", "rustc"),
                "--edition",
                "2021",
                "-A",
                "warnings",
                "-o",
                program,
                os.path.join(HERE, "layout.rs"),
            ],
            env={**os.environ, "BLOG_FACTS": facts, "TMPDIR": tmp},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if build.returncode:
            print(build.stderr, file=sys.stderr)
            print(
                "check-formats: a table names what the sources do not have, or they do not compile",
                file=sys.stderr,
            )
            sys.exit(2)
        out = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
    return dict(line.split(" ", 1) for line in out.stdout.splitlines())


# --- comparing -----------------------------------------------------------------


def number(text):
    return int(text.replace("_", ""), 0)


def contiguous(block, errors):
    """Rows must cover everything, without gap or overlap; returns the end."""
    end = 0
    for row in block.rows:
        if number(row[0]) != end:
            errors.append(f"{block}: {row[2]} is at {end}, not at {row[0]}")
        end = number(row[0]) + number(row[1])
    return end


def compare_struct(b, facts, errors):
    for offset, size, name, *_ in b.rows:
        for what, said in ("offset", offset), ("size", size):
            real = facts[f"{what}.{b.arg}.{name}"]
            if number(said) != int(real):
                errors.append(f"{b}: {what} of {name} is {real}, not {said}")
    end = contiguous(b, errors)
    if end != int(facts[f"sizeof.{b.arg}"]):
        errors.append(f"{b}: has {facts['sizeof.' + b.arg]} bytes, not {end}")


def compare_enum(b, facts, errors):
    for name, value, *_ in b.rows:
        if number(value) != int(facts[f"{b.arg}::{name}"]):
            errors.append(f"{b}: {name} is {facts[f'{b.arg}::{name}']}, not {value}")
    file, enum = b.arg.split("::")
    source = read(os.path.join(WIRE, file + ".rs"))
    body = find(rf"pub enum {enum} \{{(.*?)\n\}}", source, re.S)[1]
    names = re.findall(r"^    (\w+) = ", body, re.M)
    if names != [row[0] for row in b.rows]:
        errors.append(f"{b}: the source has {', '.join(names)}")


def compare_consts(blocks, facts, errors):
    listed = set()
    for b in blocks:
        for name, value, *_ in b.rows if b.kind in ("const", "codes") else []:
            listed.add((b.arg, name))
            real = facts[f"{b.arg}::{name}"]
            same = value.strip('"') == real if value.startswith('"') else number(value) == int(real)
            if not same:
                errors.append(f"{b}: {name} is {real}, not {value}")
    for file in ("record", "page", "file", "types"):
        source = read(os.path.join(WIRE, file + ".rs"))
        for name in re.findall(r"^pub const (\w+):", source, re.M):
            if (file, name) not in listed | NOT_IN_TABLES:
                errors.append(f"{file}.rs has {name}, which no table lists")


def compare_codes(b, facts, errors):
    for kind, _, fixed, tail, *_ in b.rows:
        said = {"N": 37, "1+T": None, "D": None}.get(fixed, fixed)
        if fixed == "1+T":
            # Around u64, u8 and str; RESULT makes room for an errno.
            least = 5 if kind == "RESULT" else 0
            for inner, size in ("U64", 9), ("U8", 2), ("STR", 2):
                if facts[f"fixed.{kind}.{inner}"] != f"Some({max(size, least)})":
                    errors.append(f"{b}: {kind} of {inner} is not {fixed}")
        elif said is None:
            if facts[f"fixed.{kind}.U64"] != "None":
                errors.append(f"{b}: {kind} has a fixed size")
        elif facts[f"fixed.{kind}.U64"] != f"Some({int(said)})":
            errors.append(f"{b}: {kind} has {facts[f'fixed.{kind}.U64']} fixed bytes")
        with_tail = [facts[f"tail.{kind}.{i}"] == "true" for i in ("U64", "STR")]
        want = {"": [False, False], "yes": [True, True], "T": [False, True]}[tail]
        if with_tail != want:
            errors.append(f"{b}: wrong about the tail of {kind}")


def compare_bits(b, facts, errors):
    for bits, field, *_ in b.rows:
        high, low = (int(n) for n in bits.split("..."))
        mask = (1 << high + 1) - (1 << low)
        key = {"ts": "1.0.0", "site": "0.1.0", "len": "0.0.1"}[field]
        if int(facts[f"header.{key}"], 16) != mask:
            errors.append(f"{b}: {field} is {facts['header.' + key]}, not bits {bits}")


def compare_cstruct(b, errors):
    patch = read(TASK_PATCH).replace("\n+", "\n")
    body = find(rf"struct {b.arg} \{{\n(.*?)\n\}}", patch, re.S)[1]
    fields = re.findall(r"^\s*u(\d+)\s+(\w+);", body, re.M)
    said = [(str(8 * number(r[1])), r[2]) for r in b.rows]
    if fields != said:
        errors.append(f"{b}: the source has {fields}")
    contiguous(b, errors)


def compare_example(b, facts, errors):
    said = "".join(
        re.findall(r"\b[0-9a-f]{2}\b(?= |$)", "\n".join(t[:30] for t in b.text if t[:5].strip()))
    )
    if said != facts["example"]:
        errors.append(f"{b}: the record is {facts['example']}, not {said}")


def compare_files(b, errors):
    source = read(os.path.join(TOP, "blog/files/mod.rs"))
    body = find(rf"const {b.arg}: \[.*?= \[\n(.*?)\n\];", source, re.S)[1]
    files = []
    for entry in re.split(r"\n    \w+ \{\n", "\n" + body)[1:]:
        name = find(r'name: c"(\w+)"', entry)[1]
        access = "" if "show: None" in entry else "r"
        files.append((name, access + ("" if "write: None" in entry else "w")))
    for binary in ("SNAPSHOT", "STREAM"):
        files.append((find(binary + r': &CStr = c"(\w+)"', source)[1], "r"))
    said = [(row[0], row[1]) for row in b.rows if row[0] != "NAME/"]
    need(errors, str(b), sorted(said), sorted(files))


def compare_keys(b, facts, errors):
    source = read(os.path.join(TOP, "blog/files/stats.rs"))
    body = find(rf"fn {b.arg}\(.*?\n\}}", source, re.S)[0]
    keys = []
    for key in re.findall(r'!\(\s*f,\s*"(\w+) ?\{', body):
        if key == "lost_":
            keys += [
                "lost_" + name.replace("-", "_") for name in facts["names.record::Lost"].split(",")
            ]
        else:
            keys.append(key)
    need(errors, str(b), [row[0] for row in b.rows], keys)


def compare_json(blocks, errors):
    keys = set()
    for file in ("output/json.rs", "stats.rs", "cli/tables.rs", "cli/gaps.rs"):
        source = read(os.path.join(TOP, "tools/blog-decode/src", file))
        keys |= set(re.findall(r'\b\w+\.(?:text|number|maybe|key)\("(\w+)"', source))
    # Keys of values, which the page shows in another table.
    keys -= {"ok", "err", "errno"}
    said = {key for b in blocks if b.kind == "json" for row in b.rows for key in row[0].split(", ")}
    need(errors, "keys of JSON", sorted(said), sorted(keys))


def compare_options(b, errors):
    folder = os.path.join(TOP, "tools/blog-decode/src/cli/args")
    source = "\n".join(read(os.path.join(folder, name)) for name in sorted(os.listdir(folder)))
    options = []
    for struct in ("Input", "TablePaths", "Filters", "Around", "Logs", "Output", "Show"):
        body = find(rf"pub struct {struct} \{{\n(.*?)\n\}}", source, re.S)[1]
        for arg, name in re.findall(r"#\[arg\((.*?)\)\]\n    (?:pub )?(\w+):", body, re.S):
            value = re.search(r'value_name = "(.*?)"', arg)
            short = re.search(r"\bshort(?: = '(.)')?", arg)
            has_long = re.search(r'\blong(?: = "(.*?)")?', arg)
            if has_long:
                long = has_long[1] or name.replace("_", "-")
                options.append(
                    ("-" + (short[1] or long[0]) + ", " if short else "")
                    + "--"
                    + long
                    + (" " + value[1] if value else "")
                )
    need(errors, str(b), [row[0] for row in b.rows], options)


def compare_messages(b, errors):
    folder = os.path.join(TOP, "tests/ui/cases")
    real = "\n".join(read(os.path.join(folder, name)) for name in sorted(os.listdir(folder)))
    terms = [t for line in b.text if line.startswith("``") for t in re.split(r", (?=``)", line)]
    if not terms:
        errors.append(f"{b}: there are none")
    for term in terms:
        pattern = re.escape(term[2:-2]).replace("`X`", "`[^`]+`").replace(r"`\{\}`", r"`\{[^`]*\}`")
        if not re.search(r"\^ [^\n]*" + pattern, real):
            errors.append(f"{b}: no test of the compiler's messages has {term}")


class Layout:
    """Reads bytes by the rows of a table."""

    def __init__(self, block, data, at):
        self.data, self.at = data, at
        self.rows = {r[2]: (number(r[0]), number(r[1])) for r in block.rows}

    def __getitem__(self, name):
        offset, size = self.rows[name]
        return self.data[self.at + offset : self.at + offset + size]

    def int(self, name):
        return int.from_bytes(self[name], "little")


def find(pattern, text, flags=0):
    """The match; there must be one."""
    found = re.search(pattern, text, flags)
    assert found, f"not found: {pattern}"
    return found


def need(errors, what, real, said):
    if real != said:
        errors.append(f"{what}: by the page it is {real!r}, but it is {said!r}")


def compare_page(by_name, facts, errors):
    """Takes the sample page apart as the page on formats says."""
    data = bytes.fromhex(facts["sample.page"])
    page = Layout(by_name["struct page::PageInfo"], data, 0)
    control = {r[0]: number(r[1]) for r in by_name["enum record::Control"].rows}
    lost = {r[0]: number(r[1]) for r in by_name["enum record::Lost"].rows}
    base = page.int("base")
    need(errors, "page.magic", page["magic"], b"BLPG")
    need(errors, "page.size", page.int("size"), 512)
    need(errors, "page.ring", page.int("ring"), 5)
    need(errors, "page.seq", page.int("seq"), 1)
    need(errors, "page.first", page.int("first"), 0)
    need(errors, "page.records", page.int("commit") >> 32, 2)
    need(errors, "page.end", page.int("commit") & 0xFFFFFFFF, len(data))
    bits = {r[1]: [int(n) for n in r[0].split("...")] for r in by_name["bits record::Header"].rows}

    def part(word, field):
        high, low = bits[field]
        return word >> low & ((1 << high - low + 1) - 1)

    at = number(
        {r[0]: r[1] for r in by_name["const page"].rows if r[0] == "PAGE_HEADER_SIZE"}[
            "PAGE_HEADER_SIZE"
        ]
    )
    seen: list = []
    while at + 8 <= len(data):
        word = int.from_bytes(data[at : at + 8], "little")
        payload = data[at + 8 : at + 8 + part(word, "len")]
        if part(word, "site") == 0:
            kind = int.from_bytes(payload[:4], "little")
            value = int.from_bytes(payload[4:12], "little")
            if kind & 0xFF == control["TimeExtend"]:
                base = value
                seen.append("extend")
            elif kind & 0xFF == control["Lost"]:
                seen.append(("lost", kind >> 8 & 0xFF, value))
        else:
            seen.append((base & ~0xFFFFFFFFF | part(word, "ts"), part(word, "site")))
        at += 8 + len(payload)
    clock = 0x123456789A
    need(
        errors,
        "records of the sample page",
        seen,
        [(clock, 0x123), "extend", ("lost", lost["Nested"], 3), (clock + (1 << 37) + 5, 0x123)],
    )


def round8(n):
    return n + 7 & ~7


def compare_table(by_name, facts, errors):
    """Takes the sample side table apart as the page on formats says."""
    data = bytes.fromhex(facts["sample.table"])
    for name in ("site", "type", "variant", "field", "table"):
        contiguous(by_name[name], errors)
    t = Layout(by_name["table"], data, 0)
    need(errors, "table.magic", t["magic"], b"BLOGFMT\0")
    for name, value in [
        ("version", 1),
        ("endian", 1),
        ("pointer_size", 8),
        ("header_size", 80),
        ("file_size", len(data)),
        ("sites", 2),
        ("types", 2),
        ("build_id_len", 20),
        ("reserved", 0),
        ("body_crc", zlib.crc32(data[80:])),
        ("crc", zlib.crc32(data[:76])),
    ]:
        need(errors, "table." + name, t.int(name), value)
    need(errors, "table.build_id", t["build_id"], bytes(range(1, 21)) + bytes(12))
    at = number(by_name["table"].rows[-1][0]) + number(by_name["table"].rows[-1][1])
    for s in (b"R1", b"A23", b"N456"):
        need(
            errors,
            "string of the table",
            data[at : at + 2 + len(s)],
            len(s).to_bytes(2, "little") + s,
        )
        at += 2 + len(s)
    at = round8(at)
    at = compare_types(by_name, data, at, errors)
    at = compare_sites(by_name, data, at, errors)
    need(errors, "end of the table", at, len(data))


def compare_types(by_name, data, at, errors):
    for code, kind, name, variants in [
        (0x1250, 1, b"Struct", [(b"Struct", 2, [(3, b"a"), (4, b"bc")])]),
        (0x3450, 2, b"E", [(b"Unit", 0, []), (b"TupleName", 1, [(1, b"")])]),
    ]:
        start = at
        d = Layout(by_name["type"], data, at)
        need(errors, "type.magic", d["magic"], b"BLFT")
        for field, value in [
            ("code", code),
            ("kind", kind),
            ("variants", len(variants)),
            ("name_len", len(name)),
            ("pad", 0),
        ]:
            need(errors, "type." + field, d.int(field), value)
        at += size_of(by_name["type"])
        need(errors, "type's name", data[at : at + len(name)], name)
        at = round8(at + len(name))
        for variant, shape, fields in variants:
            v = Layout(by_name["variant"], data, at)
            for field, value in [
                ("name_len", len(variant)),
                ("fields", len(fields)),
                ("shape", shape),
                ("pad", 0),
            ]:
                need(errors, "variant." + field, v.int(field), value)
            at += size_of(by_name["variant"])
            need(errors, "variant's name", data[at : at + len(variant)], variant)
            at = round8(at + len(variant))
            for code_, field_name in fields:
                f = Layout(by_name["field"], data, at)
                for field, value in [("code", code_), ("name_len", len(field_name)), ("pad", 0)]:
                    need(errors, "field." + field, f.int(field), value)
                at += size_of(by_name["field"])
                need(errors, "field's name", data[at : at + len(field_name)], field_name)
                at = round8(at + len(field_name))
        need(errors, "type.length", d.int("length"), at - start)
    return at


def compare_sites(by_name, data, at, errors):
    for index, (line, level, codes, strings) in enumerate(
        [
            (77, 4, [3, 0x22], [b"tag {} of {who}", b"drivers/f.rs", b"m::n", b"tag\x1fwho"]),
            (78, 1, [], [b"x", b"", b"", b""]),
        ]
    ):
        start = at
        d = Layout(by_name["site"], data, at)
        need(errors, "site.magic", d["magic"], b"BLFD")
        lens = zip(("format_len", "file_len", "module_len", "names_len"), map(len, strings))
        for field, value in [
            ("site", index),
            ("line", line),
            ("level", level),
            ("argc", len(codes)),
            ("version", 1),
            ("flags", 0),
            *lens,
        ]:
            need(errors, "site." + field, d.int(field), value)
        offset, size = d.rows["codes"]
        at += offset
        for code in codes:
            need(errors, "site.codes", int.from_bytes(data[at : at + size], "little"), code)
            at += size
        for s in strings:
            need(errors, "string of a site", data[at : at + len(s)], s)
            at += len(s)
        at = round8(at)
        need(errors, "site.length", d.int("length"), at - start)
    return at


def size_of(block):
    return number(block.rows[-1][0]) + number(block.rows[-1][1])


def literals(block):
    return re.findall(r"(0x[0-9a-f]{8}), \"(\w{4})\"", " ".join(r[3] for r in block.rows))


def compare(blocks, facts):
    errors = []
    missing = ALL_TABLES - {str(b) for b in blocks}
    for name in sorted(missing):
        errors.append(f'the table "{name}" is gone')
    if missing:
        return errors
    by_name: dict = {}
    for b in blocks:
        by_name.setdefault(str(b), b)
        if b.kind == "struct":
            compare_struct(b, facts, errors)
        elif b.kind == "enum":
            compare_enum(b, facts, errors)
        elif b.kind == "codes":
            compare_codes(b, facts, errors)
        elif b.kind == "bits":
            compare_bits(b, facts, errors)
        elif b.kind == "cstruct":
            compare_cstruct(b, errors)
        elif b.kind == "example":
            compare_example(b, facts, errors)
        elif b.kind == "messages":
            compare_messages(b, errors)
        elif b.kind == "options":
            compare_options(b, errors)
        elif b.kind == "files":
            compare_files(b, errors)
        elif b.kind == "keys":
            compare_keys(b, facts, errors)
        elif b.kind == "names":
            said = re.findall("``([^`]+)``", "\n".join(b.text))
            need(errors, str(b), ",".join(said), facts["names." + b.arg])
        for value, name in literals(b) if b.kind in ("site", "type") else []:
            need(errors, f"{b}: magic", number(value).to_bytes(4, "little"), name.encode())
    compare_consts(blocks, facts, errors)
    compare_json(blocks, errors)
    compare_page(by_name, facts, errors)
    compare_table(by_name, facts, errors)
    return errors


# --- running ---------------------------------------------------------------------


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def self_test(text, facts):
    """Each number that a checked table claims, changed: must be noticed."""
    unnoticed, tried = [], 0
    for b in parse_page(text):
        columns = {
            "const": [1],
            "enum": [1],
            "codes": [1, 2, 3],
            "bits": [0],
            "files": [0, 1],
            "keys": [0],
            "json": [0],
            "options": [0],
        }.get(b.kind, [0, 1])
        for i, row in enumerate(b.rows):
            for column in columns if row[0] != "NAME/" else []:
                copy = parse_page(text)
                target = next(c for c in copy if c.line == b.line).rows[i]
                old = target[column]
                target[column] = changed(old, column)
                tried += 1
                try:
                    noticed = bool(compare(copy, facts))
                except (KeyError, ValueError, IndexError, OverflowError):
                    noticed = True
                if not noticed:
                    unnoticed.append(f"{b}: {row[:3]}: {old} -> {target[column]}")
    for line in unnoticed:
        print("check-formats: goes unnoticed: " + line)
    print(f"check-formats: {tried} changes tried, {len(unnoticed)} went unnoticed")
    return 1 if unnoticed or not tried else 0


def changed(old, column):
    if old.startswith('"'):
        return '"CHANGED!"'
    if "..." in old:
        high, low = old.split("...")
        return f"{int(high) + 1}...{low}"
    if re.fullmatch(r"0x[0-9a-f]+|\d+", old):
        return str(number(old) + 1)
    if column == 3:
        return "" if old else "yes"
    return "3" if old in ("N", "1+T", "D") else old + "?"


def main():
    if sys.argv[1:] not in ([], ["--self-test"]):
        print(__doc__)
        return 2
    text = "\n".join(read(page) for page in PAGES)
    blocks = parse_page(text)
    facts = facts_of(blocks)
    errors = compare(blocks, facts)
    for e in errors:
        print("check-formats: " + e)
    if errors:
        return 1
    rows = sum(len(b.rows) for b in blocks)
    print(f"check-formats: {len(blocks)} tables, {rows} rows agree with the sources")
    return self_test(text, facts) if sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
