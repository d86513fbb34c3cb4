# SPDX-License-Identifier: GPL-2.0
"""The documentation is true.

Tables agree with the sources, paths and links lead somewhere, and the code in README.md and
in the pages for drivers compiles, runs, and decodes to what is shown there.
"""

import os
import re
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import vm
from conftest import TOP, Run, files

from docs import formats, messages

FORMATS: Any = formats
KERNEL_PAGES = sorted(TOP.glob("Documentation/blog/*.rst"))
PAGES = [
    *sorted([*TOP.glob("*.md"), *TOP.glob("tools/*/README.md"), *TOP.glob("docs/*.rst")]),
    *KERNEL_PAGES,
]
README = TOP / "README.md"
IN_C, IN_RUST, IN_BOTH = (
    TOP / f"Documentation/blog/drivers{name}.rst" for name in ("-c", "-rust", "")
)
STOCK = TOP / "docs/stock.rst"


def test_layout_tables_agree_with_the_sources(sh: Run) -> None:
    sh(formats.__file__)


def test_the_page_of_kernel_messages_is_that_of_the_sources() -> None:
    """Each message has a cause and a remedy. tests/docs/messages.py writes the page."""
    assert messages.PAGE.read_text() == messages.page()


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


def test_pictures_have_a_paper_in_both_colours() -> None:
    """A browser may show a dark page, or a dark picture on a light page."""
    for picture in TOP.glob("Documentation/blog/*.svg"):
        text = picture.read_text()
        dark = text.partition("@media (prefers-color-scheme: dark)")[2]
        assert 'class="paper"' in text and ".paper" in dark, picture.name
        assert not re.search(r'<(?:text|rect)[^>]* fill="', text), picture.name


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
            "CHANGELOG.md": r"^## (\d+\.\d+\.\d+) ",
            "README.md": r"^Status: ([\d.]+),",
        }.items()
    }
    assert len({match and match[1] for match in found.values()}) == 1, found


def test_the_root_for_crash_tools_is_as_formats_rst_says() -> None:
    """Its version, which the file's own head names, too, and its first fields."""
    source = (TOP / "rust/kernel/blog/wire/dump.rs").read_text()
    page = (TOP / "Documentation/blog/formats.rst").read_text()
    version = re.search(r"VERSION: u32 = (\d+);", source)
    assert version
    assert f"post-mortem root, version {version[1]}:" in source
    assert f"dump.rs``, version {version[1]}," in page
    table = page[page.index("\nPost-mortem root\n") : page.index("\nStream file\n")]
    rows = re.findall(r"^(\d+) +(\d+) +(\w+)", table, re.MULTILINE)
    sizes = {"[u8; 8]": 8, "u32": 4}
    fields = re.findall(r"^ +pub (\w+): (.+),$", source[source.index("struct Root: ") :], re.M)
    at = 0
    for (offset, size, name), (field, kind) in zip(rows, fields, strict=False):
        assert (int(offset), int(size), name) == (at, sizes[kind], field)
        at += sizes[kind]
    assert len(rows) == 7


def test_the_guides_have_all_options_of_kconfig() -> None:
    kconfig = (TOP / "Kconfig").read_text()
    guide = (TOP / "Documentation/blog/admin-guide.rst").read_text()
    deploy = (TOP / "Documentation/blog/deploy.rst").read_text()
    options = set(re.findall(r"^config (\w+)$", kconfig, re.MULTILINE)) - {
        "BLOG_HOOKS",
        "BLOG_CLOCK_IS_MONO",
    }
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


def test_pages_and_comments_keep_to_the_style() -> None:
    """What a pattern finds of CONTRIBUTING.md's rules 1, 4 and 5."""
    bad = re.compile(r"\b(is|are|was|were|be) told\b|\bbehind\b|\bWho has\b|\bwhoever\b", re.I)
    texts = {page: page.read_text() for page in [*PAGES, TOP / "Kconfig"]}
    del texts[TOP / "CONTRIBUTING.md"]
    for name in files("*.rs", "*.c", "*.h", "*.py", "*.sh", "scripts/*"):
        lines = (TOP / name).read_text().splitlines()
        comments = (re.match(r"\s*(?://+!?|/?\*+|#) (.*)", line) for line in lines)
        texts[TOP / name] = " ".join(found[1] if found else ";" for found in comments)
    for path, text in texts.items():
        assert not (found := bad.search(" ".join(text.split()))), (path, found)
    # Of rule 3; comments still have such words.
    riddles = re.compile(
        r"\b(from|of|for|by|but|is) who\b|\bthat which\b|\bwhat is there\b|\bof all of which\b",
        re.I,
    )
    for page in [*PAGES, TOP / "Kconfig", TOP / "patches/cover-letter"]:
        text = " ".join(page.read_text().split())
        if page.name != "CONTRIBUTING.md":
            assert not (found := riddles.search(text)), (page, found)


def test_set_up_s_time_and_disk_are_those_of_the_pages() -> None:
    setup = (TOP / "scripts/setup").read_text()
    stock = re.search(r"--stock\) .* minutes=(\d+) gb=(\d+)", setup)
    assert stock
    every = max(int(gb) for gb in re.findall(r"\bgb=(\d+)", setup))
    readme, page = (" ".join(p.read_text().split()) for p in (README, STOCK))
    assert f"`~/.cache/blog` ({stock[2]} or {every} GB)" in readme
    assert f"about {stock[1]} minutes on two idle CPUs" in page
    assert f"takes {stock[2]} GB of disk" in page


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


def test_the_page_for_fleets_lists_all_attributes_of_otlp() -> None:
    page = (TOP / "Documentation/blog/fleet.rst").read_text()
    table = page[page.index("\nattribute  ") : page.rindex("\n====")]
    path = TOP / "tools/blog-decode/crates/export/src/otlp.rs"
    source = path.read_text().split("#[cfg(test)]")[0]
    written = re.findall(r'\("([\w.]+\.\w+)", ', source)
    written += [name + "NAME" for name in re.findall(r'"([\w.]+\.)\{name\}"', source)]
    assert sorted(re.findall(r"``([\w.]+\.[\w.]+)``", table)) == sorted(written)


def rows(page: str, header: str) -> list[list[str]]:
    """A table's rows that begin in its first column, in cells."""
    found = re.search(rf"^{header}[^\n]*\n==[^\n]*\n(.*?)^==+ ", page, re.M | re.S)
    assert found, header
    return [re.split("  +", line) for line in re.findall(r"^\S.*$", found[1], re.M)]


def test_pages_list_all_parameters_of_modules() -> None:
    """With those defaults that are plain numbers in the source."""
    for page, source, pattern in (
        ("admin-guide", "blog/**/*.c", r"^module_param_\w+\((\w+)()"),
        ("torture", "tests/modules/torture/*.c", r"^TEST_PARAM\((\w+), (\w*)"),
    ):
        text = "".join(path.read_text() for path in sorted(TOP.glob(source)))
        real = dict(re.findall(pattern, text, re.M))
        table = rows((TOP / f"Documentation/blog/{page}.rst").read_text(), "parameter  ")
        said = {row[0]: row[1] for row in table}
        assert said.keys() == real.keys(), page
        assert not [key for key, n in real.items() if n.isdecimal() and said[key] != n], page


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


def test_the_order_of_stuck_tasks_is_the_same_in_the_help() -> None:
    """Each rule begins with the same words, in the same order."""
    page = (TOP / "Documentation/blog/post-mortem.rst").read_text()
    page = page[page.index("\nWho comes first\n") : page.index("\nWho blocks whom\n")]
    told = flat("tools/blog-decode/src/cli/args/saved.rs")
    told = told[told.index("In this order:") : told.index("Each task has its last records")]
    told, page = (" ".join(text.replace("`", "").split()) for text in (told, page))
    rules = [re.split("[:,;]", rule)[0] for rule in re.split(r" \d\. ", page)[1:]]
    assert len(rules) == len(re.findall(r" \d\. ", told)) == 5
    at = [told.find(f" {n}. {rule}") for n, rule in enumerate(rules, 1)]
    assert -1 not in at and at == sorted(at), rules


def test_keys_of_losses_in_sentences_are_in_the_table() -> None:
    page = (TOP / "Documentation/blog/admin-guide.rst").read_text()
    keys = {key for (key,) in FORMATS.keys("show_component")}
    said = set(re.findall(r"``(lost[._]\w+)``", page))
    assert said and not said - keys


def test_the_page_for_the_decoder_has_all_variables_of_the_environment() -> None:
    page = (TOP / "Documentation/blog/decode.rst").read_text()
    names = re.findall(r'\benv::var(?:_os)?\("(\w+)"', flat(*DECODER))
    assert len(names) > 3
    assert not [name for name in names if name not in page]


def test_the_table_of_suites_is_complete() -> None:
    page = (TOP / "docs/testing.rst").read_text()
    suites = {path.stem.removeprefix("test_") for path in TOP.glob("tests/suites/test_*.py")}
    assert {row[0].strip("`") for row in rows(page, "suite  ")} == suites


# --- limits ---------------------------------------------------------------------------

LIMITS = TOP / "Documentation/blog/limits.rst"


def words_of(path: str, start: str, end: str, pattern: str) -> set[str]:
    """What a pattern finds in a part of a source."""
    text = (TOP / path).read_text()
    part = text[text.index(start) :]
    return set(re.findall(pattern, part[: part.index(end)]))


def sources(*folders: str) -> str:
    return "".join(p.read_text() for f in folders for p in sorted((TOP / f).rglob("*.[ch rs]*")))


KERNEL_SIDE = (
    "blog", "rust/kernel/blog", "rust/macros/blog", "include/linux", "packaging/stock",
    "packaging/anykernel")  # fmt: skip
# How each limit begins, what it follows from in the sources, and how that is there
PROBES: dict[str, list[tuple[Callable[[], object], object]]] = {
    "BLog has never run on KVM": [
        (lambda: set(re.findall(r'"-accel", f?"(\w+)', (TOP / "tests/vm.py").read_text())), {"tcg"}),
        (lambda: "On hardware" in (TOP / "Documentation/blog/torture.rst").read_text(), True),
    ],
    "BLog's patches are for Linux 7.2 and 7.3, on x86_64, arm64 and riscv64, and in UML": [
        (
            lambda: words_of("scripts/lib/versions.sh", "DOWNLOADS='", "rust-src", r"kernel-([\d.]+)"),
            {"7.2", "7.3"},
        ),
        (
            lambda: words_of(
                "scripts/lib/versions.sh", "DOWNLOADS='", "module-root",
                r"stock-([\d.]+(?:-arm64)?)\s"),
            {"6.1", "6.12", "6.12-arm64", "7.2", "7.3"},
        ),
        (
            lambda: words_of("Kconfig", "depends on X86_64", "\n", r"\b[A-Z]\w+"),
            {"X86_64", "ARM64", "RISCV", "UML"},
        ),
        (
            lambda: words_of("Kbuild", "\nblog-arch-", "\n\n", r"CONFIG_(\w+)"),
            {"X86_64", "ARM64", "UML"},
        ),
    ],
    "On a kernel without BLog's patches, its files are in debugfs": [
        (lambda: "tracefs_create" in sources("packaging/anykernel"), False),
        (lambda: "debugfs_create_dir" in sources("blog/sys"), True),
    ],
    "No filter on values": [
        (
            lambda: words_of(
                "blog/parts/select/mod.rs", "fn parse", "_ => return", r'"(\w+)"[\w .()]* =>'),
            {"component", "task", "level", "site"},
        ),
        (
            lambda: words_of(
                "blog/parts/trigger/parse.rs", "fn parse_trigger", "\n}", r'"([a-z]+)=?"'),
            {"off", "hang", "site", "if", "after", "all"},
        ),
        (
            lambda: words_of(
                "blog/registry/images.rs", '"module" if query', "\n}", r'"([a-z]+)" if'),
            {"module", "site", "level"},
        ),
    ],
    "No histograms, no stack traces, no function graphs": [
        # Where each of these would be
        (
            lambda: " ".join(
                name for of in ("GLOBAL", "COMPONENT") for name, _ in FORMATS.files(of)),
            "NAME/ stats control snapshot stream ring_kb warn_share mode level private size_kb enable"
            " clear stats marker probes trigger snapshot stream map",
        ),
        (lambda: "stack_trace_save" in sources(*KERNEL_SIDE), False),
    ],
    "The log is binary": [
        (lambda: sources("rust/macros/blog").count('.pushsection .debug.blog,\\"\\"'), 1),
    ],
    "Records survive a reboot only in memory that ``reserve_mem``": [
        (lambda: sources("blog/parts/persist").count("reserve_mem_find_by_name("), 1),
    ],
    "There can be 1024 components, and 262,143 call sites": [
        (
            lambda: words_of("rust/kernel/blog/wire/dump.rs", "COMPONENTS: usize", ";", r"= (\d+)"),
            {"1024"},
        ),
        (lambda: FORMATS.constants("record")["SITE_MAX"][1], 262_143),
    ],
}  # fmt: skip


def limits(text: str) -> list[str]:
    """The items of the first list in a text, each in one line, in RST."""
    items = re.search(r"^- .*?(?:\n\n|\Z)", text, re.M | re.S)
    assert items
    flat = " ".join(items[0].split())
    return re.split(r"(?:^| )- ", re.sub(r"`+", "``", flat))[1:]


@pytest.mark.parametrize("begin", PROBES)
def test_a_limit_still_follows_from_the_sources(begin: str) -> None:
    """If not, the limit goes, or what it says changes; and then this table."""
    for probe, real in PROBES[begin]:
        assert probe() == real, begin


def test_each_limit_has_a_probe() -> None:
    listed = limits(LIMITS.read_text())
    assert len(listed) == len(PROBES)
    assert not [item for item, begin in zip(listed, PROBES) if not item.startswith(begin)]


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


@pytest.mark.kernels("uml")
def test_code_in_readme_and_the_pages_for_drivers_compiles(work: Path, sh: Run) -> None:
    write_modules(work / "ko")
    sh(
        "make", "-C", vm.kernel("uml").build, "ARCH=um", "LLVM=1",
        f"-j{os.environ.get('BLOG_JOBS', '2')}", f"M={work}/ko", "modules")  # fmt: skip
    made = ("readme.blogfmt", "disk.blogfmt", "guide.ko", "cdisk.blogfmt")
    assert all((work / "ko" / name).exists() for name in made)


@pytest.fixture(scope="module")
def ran(work: Path) -> Path:
    """A folder with the snapshots of README.md's snippet, the driver in C and the sample."""
    (work / "run").write_text(GUEST)
    result = vm.run(
        work, vm.kernel("uml"), work / "run",
        files={name: work / "ko" / name for name in ("readme.ko", "cdisk.ko")},
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


@pytest.mark.kernels("uml")
def test_a_decoder_made_from_formats_rst_agrees_with_blog_decode(
    ran: Path, work: Path, decoder: Path, sh: Run
) -> None:
    (work / "json").write_text(decoded(decoder, work, "--json", ran / "rust_blog"))
    sh(formats.__file__, ran / "rust_blog", work / "json", *tables(work))
