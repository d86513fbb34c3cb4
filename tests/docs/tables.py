#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tables of Documentation/blog that follow from the sources: formats.rst down to the bit, in
admin-guide.rst files and the keys in them, in json.rst the keys that blog-decode prints.

usage: tables.py    writes the tables into the pages

A comment ".. layout: KIND ARGUMENT" in a page is before each such table. The first columns are
made from the sources; what a row means stays as it is in the page, and is "?" in a new row.
"""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
NAMES = ("formats", "admin-guide", "fleet", "json")
PAGES = [TOP / f"Documentation/blog/{name}.rst" for name in NAMES]
WIRE = TOP / "rust/kernel/blog/wire"


def number(text):
    return int(text.replace("_", ""), 0)


# --- what the sources have: rows of cells, by kind of table -------------------------


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
    (r"u(?:32|64)::from_le_bytes\(\*(.*)\)", r'int.from_bytes(\1, "little")'),
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
    found = constants(file)
    if file == "file":
        found |= constants("name") | constants("waits")
    # What is left out follows from a width, or is a row of "codes".
    kinds = [name for name, (kind, _) in found.items() if (file, kind) == ("types", "u8")]
    return [(n, v) for n, (_, v) in found.items() if n not in ("TS_MASK", "SEQ_MASK", *kinds)]


def struct(arg):
    """Offset, size and name of each field."""
    file, name = arg.split("::")
    size, body = find(
        rf"pub struct {name}: (\d+).*? \{{\n(.*?)\n    \}}", wire(file), re.S
    ).groups()
    known = {n: v for of in ("record", "name", file) for n, (_, v) in constants(of).items()}
    rows: list = []
    at = 0
    for field, kind in re.findall(r"^ +pub (\w+): (.+?),$", body, re.M):
        plain = re.fullmatch(r"\[?[ui](\d+)(?:; (.*)\])?", kind)
        if not plain:
            # The page has what comes before.
            return rows
        count = eval(re.sub(r"\w+::", "", plain[2] or "1"), {}, known)
        rows.append((at, int(plain[1]) // 8 * count, field))
        at += rows[-1][1]
    assert at == int(size), f"{arg}: {at} bytes"
    return rows


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
    body = find(rf"static {name}: &\[.*?= &\[\n(.*?)\n\];", source, re.S)[1]
    # A file that version 1 of the series lacks is in a source of its own.
    body = re.sub(r"(\w+)::FILE,", lambda of: (TOP / f"blog/files/{of[1]}.rs").read_text(), body)
    more = parts() if name == "COMPONENT" else ""
    body += "\n".join(re.findall(r"    files: &\[(.*?)\n    \}\],", more, re.S))
    settings = (TOP / "blog/registry/settings.rs").read_text()
    rows: list = [("NAME/", None)]
    if name == "COMPONENT":
        rows = [(row, "rw") for row in re.findall(r'number\(Key::\w+, c"(\w+)"', settings)]
    for entry in re.split(r"\bFileOf(?:<.*?> =)? \{\n", body)[1:]:
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
            re.findall(r'\.(?:text|number|maybe|flag|key|wide|json)\("(\w+)"|"(\w+_ns)"', source)
        )
        found |= {(key, "") for key in re.findall(r'\\"(\w+)\\":', source)}
    table = (decoder / "crates/decode/src/sidetable.rs").read_text()
    place = find(r"fn place\(.*?\n    \}", table, re.S)[0]
    found |= {(key, "") for key in re.findall(r'\("(\w+)", &self', place)}
    return {(key or ns,) for key, ns in found}


def parameters(folder):
    """Of modules, with defaults that are plain numbers in the source."""
    paths = (
        path
        for path in sorted((TOP / folder).rglob("*.c"))
        if "tests" not in path.relative_to(TOP / folder).parts
    )
    text = "".join(path.read_text() for path in paths)
    found = re.findall(r"^module_param_\w+\((\w+), (\w*)", text, re.M)
    return [(name, value if value.isdecimal() else None) for name, value in found]


def otlp(_):
    path = TOP / "tools/blog-decode/crates/export/src/otlp.rs"
    source = path.read_text().split("#[cfg(test)]")[0]
    written = re.findall(r'\("([\w.]+\.\w+)", ', source)
    written += [name + "NAME" for name in re.findall(r'"([\w.]+\.)\{name\}"', source)]
    return [(f"``{name}``",) for name in written]


# --- tables of pages ---------------------------------------------------------------

# For each kind of table, which column names its rows, and what the sources have
SOURCES = {
    "bits": (1, bits), "const": (0, const), "enum": (0, lambda arg: [row[:2] for row in enum(arg)]), "names": (0, enum),
    "codes": (0, codes), "struct": (2, struct), "cstruct": (2, cstruct), "files": (0, files),
    "keys": (0, keys), "json": (0, json_keys), "parameters": (0, parameters), "otlp": (0, otlp),
}  # fmt: skip
TABLE = re.compile(
    rf"^(?P<mark>\.\. layout: (?P<kind>{'|'.join(SOURCES)})(?: (?P<arg>\S+))?\n\n)"
    r"(?P<head>(?P<rule>=+ [= ]+)\n.*\n(?P=rule)\n)(?P<body>(?:.*\n)*?)(?P=rule)\n", re.M)  # fmt: skip


def plain(cell):
    """A number, however it is written, or text."""
    cell = str(cell).strip('"')
    return number(cell) if re.fullmatch(r"0x[0-9a-f_]+|\d+", cell) else cell


def rows_of(match):
    """Of a table: each row's cells, and the lines that continue it."""
    rows: list = []
    for line in match["body"].splitlines():
        cells = [line[start:end].strip() for start, end in spans(match)]
        if cells[0]:
            rows.append((cells, []))
        else:
            rows[-1][1].append(line)
    return rows


def spans(match):
    starts = [part.start() for part in re.finditer("=+", match["rule"])]
    return list(zip(starts, [*starts[1:], None]))


def line_of(cells, columns):
    line = ""
    for (start, _), cell in zip(columns, cells):
        line = f"{line} {cell}" if len(line) >= start > 0 else line.ljust(start) + cell
    return line.rstrip()


def made(kind, arg, tables):
    """The bodies of all tables that share the rows of one source; new rows go to the last table."""
    column, source = SOURCES[kind]
    ours = {str(row[column]): row for row in source(arg)}
    found = [rows_of(match) for match in tables]
    # A row may name several keys.
    names = {name for rows in found for cells, _ in rows for name in cells[column].split(", ")}
    new = [[str(cell or "") for cell in ours[name]] + ["?"] for name in ours if name not in names]
    found[-1] += [(cells, []) for cells in new]
    for match, rows in zip(tables, found):
        lines = []
        for cells, more in rows:
            kept = [name for name in cells[column].split(", ") if name in ours]
            cells[column] = ", ".join(kept)
            for at, value in enumerate(ours[kept[0]] if len(kept) == 1 else ()):
                if value is not None and plain(cells[at]) != plain(value):
                    cells[at] = str(value)
            if kept:
                lines += [line_of(cells, spans(match)), *more]
        yield "".join(f"{line}\n" for line in lines)


def into(texts):
    """The pages with their tables made anew."""
    tables: dict = {}
    for text in texts:
        for match in TABLE.finditer(text):
            tables.setdefault((match["kind"], match["arg"]), []).append(match)
    bodies = {key: made(key[0], key[1], matches) for key, matches in tables.items()}

    def again(match):
        body = next(bodies[match["kind"], match["arg"]])
        return match["mark"] + match["head"] + body + match["rule"] + "\n"

    return [TABLE.sub(again, text) for text in texts]


def main():
    for page, text in zip(PAGES, into([page.read_text() for page in PAGES])):
        page.write_text(text)


if __name__ == "__main__":
    main()
