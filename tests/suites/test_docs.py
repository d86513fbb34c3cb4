# SPDX-License-Identifier: GPL-2.0
"""The documentation is true.

Tables agree with the sources, paths and links lead somewhere, and the code in README.md and
in the pages for drivers compiles, runs, and decodes to what is shown there.
"""

import json
import os
import re
import struct
import subprocess
import textwrap
import zlib
from pathlib import Path
from typing import Any

import pytest
import vm
from conftest import TOP, Run

from docs import messages
from docs import tables as of_pages

TABLES: Any = of_pages
KERNEL_PAGES = sorted(TOP.glob("Documentation/blog/*.rst"))
PAGES = [
    *sorted([*TOP.glob("*.md"), *TOP.glob("tools/*/README.md"), *TOP.glob("docs/*.rst")]),
    TOP / "patches/first.rst",
    *KERNEL_PAGES,
]
README = TOP / "README.md"
IN_C, IN_RUST, IN_BOTH = (
    TOP / f"Documentation/blog/drivers{name}.rst" for name in ("-c", "-rust", "")
)
STOCK = TOP / "docs/stock.rst"
KCONFIG = [TOP / "Kconfig", *sorted(TOP.glob("blog/parts/**/Kconfig"))]


def test_tables_are_made_from_the_sources() -> None:
    """Else: tests/docs/tables.py, and say what a new row means."""
    texts = [page.read_text() for page in TABLES.PAGES]
    assert texts == TABLES.into(texts)
    assert not [line for text in texts for line in text.splitlines() if line.endswith(" ?")]


def test_a_table_gets_what_the_sources_have() -> None:
    """Also if a row is missing, a number wrong, or a row of nothing there."""
    page = TOP / "Documentation/blog/formats.rst"
    text = page.read_text()
    for row, other in (
        ("TS_BITS               36 ", "TS_BITS               35 "),
        ("12      4     next     ", "12      2     next     "),
        ("Nested         1      nested   ", "Nested         1      nestle   "),
        ("BOOL         0x20   1  ", "BOOL         0x20   2  "),
        ("SITE_MAX              262143 ", "SITE_MOST             262143 "),
    ):
        assert text.count(row) == 1, row
        (again,) = TABLES.into([text.replace(row, other)])
        assert row in again and other not in again


# Tables of bytes in a side table: by field, its offset and size
Fields = dict[str, tuple[int, int]]


class Bytes:
    """A part of a side table, by a table of formats.rst."""

    def __init__(self, name: str, data: bytes, at: int) -> None:
        page = (TOP / "Documentation/blog/formats.rst").read_text()
        part = page[page.index(f".. layout: {name}\n") :]
        rows = re.findall(r"^(\d+) +(\d+) +(\w+)", part[: part.index("\n\n", 40 + len(name))], re.M)
        self.rows: Fields = {field: (int(offset), int(size)) for offset, size, field in rows}
        ends = [offset + size for offset, size in self.rows.values()]
        assert [offset for offset, _ in self.rows.values()] == [0, *ends[:-1]], name
        self.data, self.at, self.end = data, at, at + ends[-1]

    def __getitem__(self, field: str) -> bytes:
        offset, size = self.rows[field]
        return self.data[self.at + offset : self.at + offset + size]

    def __getattr__(self, field: str) -> int:
        return int.from_bytes(self[field], "little")


def padded(at: int) -> int:
    return at + 7 & ~7


def test_side_tables_are_as_formats_rst_has_them() -> None:
    """A reader that takes its offsets from the page finds what blog-decode finds."""
    golden = TOP / "tools/blog-decode/tests/golden/expected"
    records = [json.loads(line) for line in (golden / "json.txt").read_text().splitlines()]
    theirs = {r["index"]: [r[key] for key in ("line", "format", "file", "module")]
              for r in records if r.get("file")}  # fmt: skip
    data = (golden / "golden_mod.blogfmt").read_bytes()
    head = Bytes("table", data, 0)
    assert head["magic"] == b"BLOGFMT\0" and head.version == head.endian == 1
    assert head.header_size == head.end and head.file_size == len(data)
    assert head.crc == zlib.crc32(data[: head.end - 4])
    assert head.body_crc == zlib.crc32(data[head.end :])
    at = head.end
    for _ in range(3):
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    at, types = padded(at), 0
    sites: list[list[object]] = []
    while at < len(data):
        part = Bytes("type", data, at)
        if part["magic"] == b"BLFT":
            types += 1
            inner = padded(part.end + part.name_len)
            for _ in range(part.variants):
                variant = Bytes("variant", data, inner)
                inner = padded(variant.end + variant.name_len)
                for _ in range(variant.fields):
                    field = Bytes("field", data, inner)
                    inner = padded(field.end + field.name_len)
            assert inner == at + part.length
        elif part["magic"] == b"BLFP":
            assert Bytes("place", data, at).site == len(sites) - 1
        else:
            part = Bytes("site", data, at)
            assert part["magic"] == b"BLFD" and part.site == len(sites)
            texts, inner = [], part.end + 8 * (part.argc - 1)
            for length in (part.format_len, part.file_len, part.module_len, part.names_len):
                texts.append(data[inner : inner + length].decode())
                inner += length
            assert padded(inner) == at + part.length
            sites.append([part.line, *texts[:3]])
        at += part.length
    assert (len(sites), types) == (head.sites, head.types) and types
    assert theirs and all(sites[index] == site for index, site in theirs.items())


def test_the_example_of_formats_rst_has_the_bytes_that_it_says() -> None:
    of = {name: value for name, (_, value) in TABLES.constants("record").items()}
    header = (0x123456789A & (1 << of["TS_BITS"]) - 1) << of["SITE_BITS"] + of["LEN_BITS"]
    payload = struct.pack("<I", 7) + b"\2ok\1"
    raw = struct.pack("<Q", header | 0x123 << of["LEN_BITS"] | len(payload)) + payload
    page = (TOP / "Documentation/blog/formats.rst").read_text().partition(".. layout: example")[2]
    lines = page.partition("\nVersion 1\n")[0].splitlines()
    assert bytes.fromhex("".join(line[:30] for line in lines if line[4:6].strip(":"))) == raw


def test_messages_of_the_compiler_are_those_of_its_tests() -> None:
    page = (
        (TOP / "Documentation/blog/drivers-rust.rst").read_text().partition(".. layout: messages")
    )
    real = "\n".join(path.read_text() for path in sorted((TOP / "tests/ui/cases").iterdir()))
    terms = [term for line in re.findall(r"^``.*", page[2], re.M)
             for term in re.split(r", (?=``)", line)]  # fmt: skip
    assert len(terms) > 3
    for term in terms:
        pattern = re.escape(term[2:-2]).replace("`X`", "`[^`]+`").replace("<X>", "<[^`]+>")
        pattern = pattern.replace(r"`\{\}`", r"`\{[^`]*\}`")
        assert re.search(r"\^ [^\n]*" + pattern, real), term


def test_each_message_to_the_kernels_log_has_a_cause_and_a_remedy() -> None:
    """On the page, by the alphabet."""
    entries = messages.described()
    assert entries == sorted(messages.collected(), key=lambda text: text.strip(".: ").lower())


# --- paths, links, targets ----------------------------------------------------------

OURS = re.compile(
    r"(?:blog|rust/kernel/blog|rust/macros|rust/helpers|samples/rust|scripts|tools|tests"
    r"|patches|packaging|Documentation/blog|docs|\.ci)/[\w./*-]+|include/linux/blog\.h"
    r"|rust/kernel/blog\.rs"
)
# Files of the kernel itself, or made by the build
NOT_OURS = re.compile(
    r"scripts/((checkpatch|get_maintainer)\.pl|config|Makefile\S*)|\S+\.(o|ko|blogfmt)$"
    r"|samples/rust/(Kconfig|Makefile)$|scripts/blog-fmt-sidetable/blog-fmt-sidetable$"
)
DEBUGFS = re.compile(
    r"blog/(stats|snapshot|control|<component>\S*"
    r"|[a-z0-9_-]+/(enable|level|mode|size_kb|ring_kb|snapshot|stream|stats|clear)?)$"
)
# Names in the kernel tree, and where they come from
IN_TREE = {"include/linux/blog.h": "patches/task_struct-blog-tls.patch"} | {
    there: here
    for here, there in re.findall(r"(\S+?)/?:(\S+?)/?\s", (TOP / "patches/series").read_text())
}
KERNEL_TARGETS = {"modules_install", "htmldocs", "menuconfig", "olddefconfig"}


def dangling(page: Path) -> list[str]:
    """Missing targets of a page's references. Sphinx checks references between pages."""
    text = page.read_text()
    makefile = (TOP / "Makefile").read_text()
    targets = set(" ".join(re.findall(r"^([\w. -]+?) *:(?!=)", makefile, re.MULTILINE)).split())
    lost = []
    for literal in re.findall(r"``([^`\n]+)``" if page.suffix == ".rst" else r"`([^`\n]+)`", text):
        make = re.fullmatch(r"make ([a-z][\w-]*)", literal)
        if make and make[1] not in targets | KERNEL_TARGETS:
            lost.append(literal)
        word = literal.split()[0]
        if OURS.fullmatch(word) and not NOT_OURS.match(word) and not DEBUGFS.match(word):
            path = word
            for there, here in IN_TREE.items():
                path = here + word.removeprefix(there) if word.startswith(there) else path
            path = path.rstrip("/")
            lost += [] if any(TOP.glob(path)) else [word]
    links = re.findall(r"^\.\. _[\w-]+: (\S+\.rst)$", text, re.MULTILINE)
    lost += [link for link in links if not (page.parent / link).exists()]
    if page.suffix == ".md":
        headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
        anchors = {
            re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
        }
        for file, fragment in re.findall(r"\]\((?![a-z]+:)([^)#]*)#?([^)]*)\)", text):
            if not (page.parent / file).exists() or not file and fragment not in anchors:
                lost.append(f"{file}#{fragment}")
    return lost


def test_paths_links_and_make_targets_exist() -> None:
    assert not {page.name: found for page in PAGES if (found := dangling(page))}


def test_sections_that_pages_name_exist() -> None:
    """As :doc:`page`, "Section"."""
    pages = {page.stem: page.read_text() for page in PAGES if page.suffix == ".rst"}
    heads = {
        name: set(re.findall(r"^(\S.*)\n[=-]{3,}$", text, re.M)) for name, text in pages.items()
    }
    named = [
        (name, page, section)
        for name, text in pages.items()
        for page, section in re.findall(
            r'(?::doc:)?`([\w-]+)`_?, "([^"]+)"', " ".join(text.split())
        )
    ]
    assert len(named) > 20
    assert not [(name, *of) for name, *of in named if of[1] not in heads.get(of[0], ())]


def test_pages_of_the_kernel_tree_name_no_command_of_this_repository() -> None:
    """They are read where neither its Makefile nor its scripts are. Its other files have to be
    named as such."""
    series = (TOP / "patches/series").read_text()
    kernels = {"scripts/config", *re.findall(r" (scripts/\S+)", series)}
    targets = re.findall(r"^([a-z-]+):.*##", (TOP / "Makefile").read_text(), re.MULTILINE)
    ours = set(targets) - {"install", "clean", "distclean", "help"}
    lost = []
    for page in KERNEL_PAGES:
        text = " ".join(page.read_text().split())
        lost += [(page.name, m) for m in re.findall(r"\bmake ([a-z-]+)", text) if m in ours]
        for path in re.findall(r"\b(?:scripts|packaging|tests|tools|patches|docs)/[\w./-]+", text):
            if not any(path.startswith(name) for name in kernels):
                elsewhere = re.match("tests/|tools/|docs/", path) and "BLog's repository" in text
                lost += [] if elsewhere else [(page.name, path)]
    assert not lost


# --- names, versions, options ---------------------------------------------------------


def test_one_version_is_named_everywhere() -> None:
    found = {
        name: re.search(pattern, (TOP / name).read_text(), re.MULTILINE)
        for name, pattern in {
            "tools/blog-decode/Cargo.toml": r'^version = "(.+)"$',
            "tools/blog-ctl/Cargo.toml": r'^version = "(.+)"$',
            "tools/drgn/pyproject.toml": r'^version = "(.+)"$',
            "packaging/anykernel/compat.c": r'^MODULE_VERSION\("(.+)"\);$',
            "packaging/debian/changelog": r"\((.+?)\)",
            "packaging/blog-tools.spec": r"^Version: +(.+)$",
            "CHANGELOG.md": r"^## (\d+\.\d+\.\d+) ",
            "Documentation/blog/upgrade.rst": r"^(\d+\.\d+\.\d+)\n===",
            "README.md": r"^Status: ([\d.]+),",
        }.items()
    }
    assert len({match and match[1] for match in found.values()}) == 1, found


def test_the_changelog_is_by_kind() -> None:
    newest = re.split("^## ", (TOP / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1]
    kinds = re.findall("^### (.*)", newest, re.MULTILINE)
    order = ["Added", "Changed", "Removed", "Fixed", "Security"]
    assert kinds and kinds == [kind for kind in order if kind in kinds]


def test_versions_of_formats_are_those_of_the_sources() -> None:
    page = (TOP / "Documentation/blog/formats.rst").read_text()
    said = re.findall(r"^Source: ``(\S+)``,(?: wire)? version (\d+)", page, re.M)
    assert len(said) >= 3
    for source, version in said:
        assert re.search(rf"\b(?:WIRE_)?VERSION: u\d+ = {version};", (TOP / source).read_text()), (
            source
        )


def test_the_guides_have_all_options_of_kconfig() -> None:
    kconfig = "".join(path.read_text() for path in KCONFIG)
    guide = (TOP / "Documentation/blog/admin-guide.rst").read_text()
    deploy = (TOP / "Documentation/blog/deploy.rst").read_text()
    # Those that have a text are for people.
    texts = re.findall(
        r"^(?:menu)?config (\w+)\n\t(?:bool|tristate|string) \"", kconfig, re.MULTILINE
    )
    options = set(texts)
    assert len(options) > 15
    assert not [name for name in options if f"CONFIG_{name}" not in guide]
    selected = re.findall(r"^\tselect (\w+)$", kconfig, re.MULTILINE)
    assert not [name for name in selected if f"``{name}``" not in guide or name not in deploy]


def test_all_fields_of_conditions_are_named(decoder: Path) -> None:
    """In the help, on the page, and in the comment that has the grammar."""
    said = subprocess.run(
        [decoder, "stats", "--by", "nothing", "x"], capture_output=True, text=True, check=False)  # fmt: skip
    names = re.search(r"there are ([a-z_ ]+),", said.stderr)
    assert names, said.stderr
    told = subprocess.run([decoder, "--help"], capture_output=True, text=True, check=True).stdout
    page = (TOP / "Documentation/blog/decode.rst").read_text()
    grammar = (TOP / "tools/blog-decode/crates/decode/src/expr/mod.rs").read_text()
    for text, start, end in (
        (told, "CONDITION of --where", "combined by"),
        (page, "Fields are", "arguments:"),
        (grammar, "//! field ", "arg.NAME"),
    ):
        part = text[text.index(start) :]
        words = set(re.findall(r"\w+", part[: part.index(end)]))
        assert not set(names[1].split()) - words, start


def test_the_service_of_fleet_rst_calls_record_as_it_is(decoder: Path) -> None:
    page = (TOP / "Documentation/blog/fleet.rst").read_text()
    command = re.search(r"^  ExecStart=/usr/bin/(.*)$", page, re.MULTILINE)
    assert command
    # Without BLog's files, it fails when it opens them.
    said = subprocess.run(
        [decoder, *command[1].replace("/var/log/blog", "/dev/null/x").split()[1:], "/nothing"],
        capture_output=True, text=True, check=False)  # fmt: skip
    assert said.returncode == 2 and "Usage:" not in said.stderr, said.stderr


def test_the_memory_of_the_page_for_deciding_is_what_the_suite_memory_finds() -> None:
    text = (TOP / "tests/guest/memory/beside.sh").read_text()
    real = re.search(r"^start=(\d+) module=(\d+) each=(\d+)$", text, re.M)
    page = " ".join((TOP / "Documentation/blog/deploy.rst").read_text().split())
    said = re.search(r":: (\d+) \+ sum of their size_kb .* no driver that logs (\d+) one driver (\d+)"
                     r" 20 drivers ([\d,]+) .* at most (\d+) KiB for each component, .* at most"
                     r" (\d+) KiB for the module itself", page)  # fmt: skip
    assert real and said
    start, module, each = map(int, real.groups())
    assert [int(n.replace(",", "")) for n in said.groups()] == [
        start, start, start + 1024, start + 20 * 1024, each, module]  # fmt: skip


DECODER = ("tools/blog-decode/src/**/*.rs", "tools/blog-decode/crates/*/src/**/*.rs")


def test_the_library_of_the_decoder_has_few_names() -> None:
    """Its types and their methods; all else is in crates that are internal, as their pages say."""
    lib = (TOP / "tools/blog-decode/src/lib.rs").read_text()
    types = re.findall(r"\b[A-Z]\w+", " ".join(re.findall(r"^pub use ([^;]*);", lib, re.M)))
    pages = sorted(TOP.glob("tools/blog-decode/crates/*/src/lib.rs"))
    source = "".join(
        path.read_text() for page in pages for path in sorted(page.parent.glob("**/*.rs")))  # fmt: skip
    bodies = rf"^impl(?:<[^>]*>)? (?:{'|'.join(types)})(?:<[^>]*>)? \{{\n.*?^\}}"
    methods = [fn for body in re.findall(bodies, source, re.M | re.S)
               for fn in re.findall(r"^    pub (?:const )?fn (\w+)", body, re.M)]  # fmt: skip
    assert len(types) >= 10 and "entries" in methods
    assert len(types + methods) <= 60
    assert not [page for page in pages if "internal part of the" not in page.read_text()]


def flat(*paths: str) -> str:
    """Sources of the decoder without line breaks, also those within texts."""
    text = "".join(path.read_text() for name in paths for path in sorted(TOP.glob(name)))
    return " ".join(re.sub(r"\\\n\s*", "", text).split())


def test_messages_that_the_page_for_dumps_quotes_are_literal() -> None:
    """But for what stands for something else: words in capitals, names of variables, dots."""
    page = (TOP / "Documentation/blog/post-mortem.rst").read_text()
    page = page[page.index("\nWhat may be missing\n") : page.index("\nHow BLog is found\n")]
    rows = re.findall(r"^==+ .*?^==+ .*?\n(.*?)^==+ ", page, re.M | re.S)
    quoted = [line.partition("  ")[0] for row in rows for line in row.splitlines()]
    literals = re.findall(r"``([^`]+)``", " ".join(page.split()))
    quoted += [text for text in literals if " " in text and not text.startswith("-")]
    assert len(quoted) > 20
    source = flat(*DECODER)
    parts = [
        part.strip()
        for text in quoted
        for part in re.split(r"\.\.\.|[(),:]|\b[A-Z]{4,}\b|\b\w+_\w+\b", text)
    ]
    assert not [part for part in parts if " " in part and part not in source]


def rows(page: str, header: str) -> list[list[str]]:
    """A table's rows that begin in its first column, in cells."""
    found = re.search(rf"^{header}[^\n]*\n==[^\n]*\n(.*?)^==+ ", page, re.M | re.S)
    assert found, header
    return [re.split("  +", line) for line in re.findall(r"^\S.*$", found[1], re.M)]


def test_the_keys_of_components_settings_are_those_of_the_source() -> None:
    """On the page, and in what modinfo prints."""
    keys = words_of("blog/registry/settings.rs", "static SETTINGS", "];", r'c"([a-z_]+)"')
    assert len(keys) > 5
    page = (TOP / "Documentation/blog/admin-guide.rst").read_text()
    said = re.search(r"The keys are ([^.]*?), and take what", page)
    modinfo = re.search(
        r"KEY one of ([^;]*);", (TOP / "blog/parts/settings/settings.c").read_text()
    )
    assert said and modinfo
    for text in (said[1], modinfo[1]):
        assert set(re.findall(r"\w+", text)) - {"and"} == keys


def test_the_page_for_the_decoder_has_all_variables_of_the_environment() -> None:
    page = (TOP / "Documentation/blog/decode.rst").read_text()
    names = re.findall(r'\benv::var(?:_os)?\("(\w+)"', flat(*DECODER))
    assert len(names) > 3
    assert not [name for name in names if name not in page]


def test_the_table_of_suites_is_complete() -> None:
    page = (TOP / "docs/testing-proof.rst").read_text()
    suites = {path.stem.removeprefix("test_") for path in TOP.glob("tests/suites/test_*.py")}
    assert {row[0].strip("`") for row in rows(page, "suite  ")} == suites


# --- limits ---------------------------------------------------------------------------

LIMITS = TOP / "Documentation/blog/limits.rst"


def words_of(path: str, start: str, end: str, pattern: str) -> set[str]:
    """What a pattern finds in a part of a source."""
    text = (TOP / path).read_text()
    part = text[text.index(start) :]
    return set(re.findall(pattern, part[: part.index(end)]))


def limits(text: str) -> list[str]:
    """The items of the first list in a text, each in one line, in RST."""
    items = re.search(r"^- .*?(?:\n\n|\Z)", text, re.M | re.S)
    assert items
    flat = " ".join(items[0].split())
    return re.split(r"(?:^| )- ", re.sub(r"`+", "``", flat))[1:]


def test_limits_stand_in_one_place() -> None:
    """README.md can't include the list, so it has a copy."""
    readme = README.read_text()
    assert limits(readme[readme.index("[Limits]") :]) == limits(LIMITS.read_text())
    for name in ("index", "comparison"):
        page = (TOP / f"Documentation/blog/{name}.rst").read_text()
        assert ".. include:: limits.rst\n   :start-after: .. The list\n" in page, name
    listed = limits(LIMITS.read_text())[1]
    for page, start, end in (
        ("README.md", "\nStatus:", "mainline"),
        ("Documentation/blog/admin-guide.rst", "\nBLog needs ", "It selects"),
    ):
        machines = words_of(page, start, end, r"\b[a-z]+\d+(?:_\d+)?\b")
        assert machines == set(re.findall(r"\b[a-z]+\d+(?:_\d+)?\b", listed)), page


def test_the_example_of_a_part_is_in_its_sources() -> None:
    """Each block of the page is in the file that is named before it, but for gaps."""
    text = (TOP / "Documentation/blog/parts.rst").read_text()
    blocks = re.findall(r"((?:.+\n)*.*::)\n\n((?: {4}.*\n|\n)+)", text)
    assert len(blocks) >= 5
    for before, block in blocks:
        (name,) = re.findall(r"``((?:blog/\S+|Kbuild))``", before)[-1:]
        source = " ".join((TOP / name).read_text().split())
        for piece in textwrap.dedent(block).split("\n...\n"):
            assert " ".join(piece.split()) in source, (name, piece)
    parts = set(TOP.glob("blog/parts/*/*.rs"))
    floors = "".join(file.read_text() for file in {*TOP.glob("blog/**/*.rs")} - parts)
    hooks = set(re.findall(r"pub\(crate\) static (\w+): SetOnce<", floors))
    used = "".join(file.read_text() for file in parts)
    used_hooks = hooks & set(re.findall(r"\b([A-Z_]+)\.populate\(", used))
    assert used_hooks == set(re.findall(r"``[a-z]+::([A-Z_]+)``", text))


# --- code -----------------------------------------------------------------------------

HEAD = """// SPDX-License-Identifier: GPL-2.0

//! Made from {page} by tests/suites/test_docs.py.

#![allow(dead_code, missing_docs, unreachable_pub, unused_imports)]

use kernel::{{blog::*, prelude::*}};

module! {{
    type: Snippet,
    name: "{name}",
    authors: ["BLog developers"],
    description: "Snippets of the documentation",
    license: "GPL",
}}

struct Snippet;

impl kernel::Module for Snippet {{
    fn init(_module: &'static ThisModule) -> Result<Self> {{
        {init}
        Ok(Self)
    }}
}}

"""
PRELUDE = "use kernel::prelude::*;\n"

GUEST = """#!/bin/sh
mount -t debugfs none /sys/kernel/debug 2>/dev/null
insmod /readme.ko && insmod /cdisk.ko || exit 1
for c in disk disk#2 rust_blog; do
	cat "/sys/kernel/debug/blog/$c/snapshot" >"/out/$c" || exit 1
done
"""


def readme_blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)


def page_blocks(page: Path, directive: str) -> list[str]:
    blocks = re.findall(directive + r"\n\n((?:(?:  .*)?\n)+)", page.read_text())
    return [re.sub("^  ", "", block, flags=re.MULTILINE).rstrip() + "\n" for block in blocks]


def write_modules(folder: Path) -> None:
    """Four modules: README.md's snippet, with the calls of submit() that it names; all blocks in C
    of drivers.rst and drivers-c.rst; and, only to compile, those in Rust."""
    snippet = next(block for block in readme_blocks("rust") if "fn submit" in block)
    calls = re.findall(r"`submit\((\d+, \d+)\)`", README.read_text())
    assert calls, "README.md doesn't say with what submit() is called"
    init = "\n        ".join(f"let _ = submit({call});" for call in calls)
    readme = HEAD.format(page="README.md", name="readme", init=init) + snippet.replace(PRELUDE, "")
    guide = HEAD.format(page="drivers-rust.rst", name="guide", init="")
    guide += 'blog_component! { DISK, name: "guide" }\n'
    (disk,) = page_blocks(IN_BOTH, r"\.\. code-block:: rust")
    for i, block in enumerate(page_blocks(IN_RUST, r"\.\. code-block:: rust")):
        guide += f"\nmod block{i} {{\nuse super::*;\n{block.replace(PRELUDE, '')}}}\n"
    folder.mkdir()
    (folder / "readme.rs").write_text(readme)
    (folder / "disk.rs").write_text(disk)
    (folder / "guide.rs").write_text(guide)
    in_c = [
        block for page in (IN_BOTH, IN_C) for block in page_blocks(page, r"\.\. code-block:: c")
    ]
    (folder / "cdisk.c").write_text("".join(in_c))
    (folder / "Kbuild").write_text("obj-m += readme.o disk.o guide.o cdisk.o\n")


# What the header for trees without BLog takes from the kernel
KERNEL = """
extern int _printk(const char *, ...) __attribute__((__format__(__printf__, 1, 2)));
#define no_printk(fmt, ...) ({ if (0) _printk(fmt, ##__VA_ARGS__); 0; })
#define static_assert(x) _Static_assert(x, "")
"""
WITHOUT = """
DECLARE_BLOG_COMPONENT(disk);
BLOG_COMPONENT(disk, .size_kb = 1024);
void f(void);
void f(void)
{
	blog_err(disk, "one");
	blog_warn(disk, "%d", 1);
	blog_info(disk, "%d %s", 1, "x");
	blog_log(disk, "%d", 1);
	blog_debug(disk, "%d", 1);
	blog_trace(disk, "%d", @);
}
"""


def test_the_header_for_trees_without_blog_checks_arguments(work: Path) -> None:
    """On the host, whose headers for the kernel have no blog.h either."""
    (header,) = re.findall(r"\n  /\* disk_blog\.h \*/\n((?:  .*\n)+)", IN_C.read_text())
    names = set(re.findall(r"#define (\w+)\(", header))
    real = (TOP / "patches/task_struct-blog-tls.patch").read_text()
    real += (TOP / "include/linux/blog_call.h").read_text()
    assert not [name for name in names if name not in real]
    header = re.sub(r"#include <linux/(build_bug|printk)\.h>", "", header)
    for value, status in (("1", 0), ('"x"', 1)):
        source = work / "without.c"
        source.write_text(
            KERNEL + re.sub("^  ", "", header, flags=re.M) + WITHOUT.replace("@", value)
        )
        command = ["cc", "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", str(source)]
        assert subprocess.run(command, check=False).returncode == status


@pytest.fixture(scope="module")
def modules(work: Path, sh: Run) -> Path:
    """A folder where the modules of README.md and the pages for drivers are built."""
    write_modules(work / "ko")
    sh(
        "make", "-C", vm.kernel("uml").build, "ARCH=um", "LLVM=1",
        f"-j{os.environ.get('BLOG_JOBS', '2')}", f"M={work}/ko", "modules")  # fmt: skip
    return work / "ko"


@pytest.mark.kernels("uml")
def test_code_in_readme_and_the_pages_for_drivers_compiles(modules: Path) -> None:
    made = ("readme.blogfmt", "disk.blogfmt", "guide.ko", "cdisk.blogfmt")
    assert all((modules / name).exists() for name in made)


@pytest.fixture(scope="module")
def ran(modules: Path, work: Path) -> Path:
    """A folder with the snapshots of README.md's snippet, the driver in C and the sample."""
    (work / "run").write_text(GUEST)
    result = vm.run(
        work, vm.kernel("uml"), work / "run",
        files={name: modules / name for name in ("readme.ko", "cdisk.ko")},
        machine=vm.Machine(cpus=1), seconds=60)  # fmt: skip
    assert not result.problem, result.told()
    return result.out


def tables(work: Path) -> list[Path]:
    return [*(work / "ko").rglob("*.blogfmt"), vm.kernel("uml").build / "vmlinux.blogfmt"]


def masked(text: str) -> list[str]:
    """Lines without times, names and pids, which differ from run to run."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [re.sub(r"^\[ *\d+\.\d+\] | \w+\[\d+\]:", " ", line) for line in lines]


def decoded(decoder: Path, work: Path, *args: str | Path) -> str:
    words = [decoder, *(f"-s{table}" for table in tables(work)), *args]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@pytest.mark.kernels("uml")
def test_the_drivers_decode_to_what_is_shown_there(ran: Path, work: Path, decoder: Path) -> None:
    real = masked(decoded(decoder, work, ran / "disk"))
    assert real == masked(readme_blocks("text")[0])
    (shown,) = page_blocks(IN_BOTH, "decodes to::")
    assert real == masked(shown.replace("-EINVAL", "EINVAL"))
    in_c = decoded(decoder, work, ran / "disk#2").replace(" disk#2 ", " disk ")
    assert masked(in_c) == masked(shown)
