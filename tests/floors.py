#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks how the kernel side is laid out: floors.py [DIR] prints what is wrong there.

The kernel side is the module (blog/) and its part of the kernel crate (rust/kernel/blog). Its
files stand on floors. It is read as text: imports and paths of Rust, names of C that Rust declares
or defines, prototypes and includes of C. RULES has the rules.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

# The floors of the kernel crate, from the top down; those of the module are above them, and stand
# in the table of blog/main.rs.
CRATE = "rust/kernel/blog/"
CRATE_FLOORS = ("../blog.rs", "call/", "root.rs", "task/", "ring/", "unaligned.rs", "wire/")
WIRE = f"{CRATE}wire/"
MODULE = "blog/"
PARTS = "blog/parts/"
# What drivers are compiled with and the module defines: the only names that point up.
EXPORTED = f"{CRATE}call/abi.rs"
# A file in C that a module for any kernel has in place of another one.
STAND_INS = {
    "packaging/anykernel/hookless.c": "blog/sys/hookless.c",
    "packaging/anykernel/crashless.c": "blog/parts/dumps/crashless.c",
}
HEADERS = ("include/linux/blog_call.h", "include/linux/blog_capture.h")

# A symbol of Kconfig that is to be set
SYMBOL = re.compile(r"(?<![!\w])[A-Z][A-Z0-9_]+")

TOKENS = {
    ".rs": r"""//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|b?c?"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^\\'\n])'""",
    ".c": r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'""",
}


def blank(text: str, keep: bool) -> str:
    """Text of the same lines, without what is in it."""
    lines = "\n" * text.count("\n")
    if text.startswith(("//", "/*")):
        return lines or " "
    return text if keep else f'""{lines}'


@cache
def stripped(text: str, is_rust: bool) -> tuple[str, str]:
    """A file's text without comments; and without what is in strings, too."""
    token = re.compile(TOKENS[".rs" if is_rust else ".c"], re.S)
    return (
        token.sub(lambda match: blank(match[0], True), text),
        token.sub(lambda match: blank(match[0], False), text),
    )


def closing(text: str, at: int) -> int:
    """Where the bracket ends that begins there; the end of the text if nowhere."""
    depth = 0
    for n in range(at, len(text)):
        depth += (text[n] in "({[") - (text[n] in ")}]")
        if depth == 0:
            return n
    return len(text)


def split(text: str) -> list[str]:
    """What commas separate, on the outermost level."""
    found, depth = [""], 0
    for n, char in enumerate(text):
        depth += (char in "({[<") - (char in ")}]" or (char == ">" and text[n - 1 : n] != "-"))
        if char == "," and depth == 0:
            found.append("")
        else:
            found[-1] += char
    return [entry.strip() for entry in found if entry.strip()]


@dataclass(frozen=True)
class Function:
    """A function or a variable by its name in C: classes of its arguments and result."""

    name: str
    # None: a variable, or one that a macro makes.
    args: tuple[str, ...] | None = None
    result: str = ""

    def fits(self, other: "Function") -> bool:
        """Whether one of C and one of Rust are the same, or two of one of them."""
        if self.args is None or other.args is None:
            return True
        mine, theirs = (*self.args, self.result), (*other.args, other.result)
        # An address that may be any is a u64 in Rust.
        address = {"64", "pointer"}
        return len(mine) == len(theirs) and all(
            one == two or {one, two} == address for one, two in zip(mine, theirs, strict=True)
        )

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.args or ())}) -> {self.result}"


@dataclass
class Source:
    """A file of the kernel side."""

    name: str
    # Without comments; and without what is in strings, too.
    code: str = ""
    bare: str = ""
    # Names in C: those that it defines for others, and those of others that it declares.
    defines: dict[str, Function] = field(default_factory=dict)
    declares: dict[str, Function] = field(default_factory=dict)
    # Rust: the paths that names of `use` stand for.
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    types: list[str] = field(default_factory=list)

    @property
    def folder(self) -> str:
        return f"{PurePosixPath(self.name).parent}/"

    @property
    def home(self) -> str:
        """The folder; of C that differs by architecture, that around arch/."""
        return self.folder if self.is_rust else self.folder.removesuffix("arch/")

    @property
    def is_rust(self) -> bool:
        return self.name.endswith(".rs")

    @property
    def part(self) -> str | None:
        """The name of the part that it belongs to."""
        if not self.name.startswith(PARTS):
            return None
        return self.name.removeprefix(PARTS).split("/")[0].removesuffix(".rs")


# --- C ----------------------------------------------------------------------------

C_TYPES = {
    "void": "",
    "char": "8",
    "u8": "8",
    "umode_t": "16",
    "u16": "16",
    "int": "32",
    "unsigned int": "32",
    "u32": "32",
    "s32": "32",
    "__poll_t": "32",
    "u64": "64",
    "s64": "64",
    "size_t": "word",
    "ssize_t": "word",
    "long": "word",
    "unsigned long": "word",
    "bool": "bool",
}


def c_class(text: str, is_argument: bool) -> str:
    """The class of a type in C, with the name of an argument that has it."""
    if "*" in text or "[" in text:
        return "pointer"
    words = [word for word in text.split() if word not in ("const", "extern", "static", "notrace")]
    words = [word for word in words if not word.startswith("__") or word == "__poll_t"]
    if words[:1] == ["enum"]:
        return "32"
    if words[:1] == ["struct"]:
        return "struct"
    if is_argument and len(words) > 1 and " ".join(words) not in C_TYPES:
        words.pop()
    return C_TYPES.get(" ".join(words), " ".join(words))


def c_statements(bare: str) -> Iterator[tuple[str, bool]]:
    """What stands on the outermost level: text, and whether a body follows."""
    bare = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", bare, flags=re.M)
    at = start = 0
    while at < len(bare):
        if bare[at] in "([":
            at = closing(bare, at)
        elif bare[at] == "{":
            end = closing(bare, at)
            text = bare[start:at].strip()
            # A function's body ends it; braces of a type or of a value are followed by more.
            if text.endswith(")") or not re.match(r"\s*\w*[^;{]*;", bare[end + 1 :]):
                yield text, True
                start = end + 1
            at = end
        elif bare[at] == ";":
            yield bare[start:at].strip(), False
            start = at + 1
        at += 1


def c_names(source: Source) -> None:
    """Fills in which names a file in C defines and declares."""
    for text, has_body in c_statements(source.bare):
        text = " ".join(text.split())
        if re.search(r"\bstatic\b|\btypedef\b", text) or not text:
            continue
        call = re.match(r"((?:[\w*]+\s+)*[\w*\s]*?)\b(blog_\w+)\s*(\(.*\))(?:\s*__\w+(?:\(.*\))?)*$",
                        text)  # fmt: skip
        if call and call[1].strip():
            inside = call[3][1 : closing(call[3], 0)]
            args = [] if inside.strip() in ("", "void") else split(inside)
            function = Function(
                call[2],
                tuple(c_class(arg, True) for arg in args),
                c_class(call[1], False),
            )
            (source.defines if has_body else source.declares)[call[2]] = function
            continue
        value: re.Match[str] | None = re.match(r"(?:[\w*]+\s+|\*)+(?:__\w+\s+)?(blog_\w+)\b\s*(?:\[[^]]*\]|__\w+|\s)*(=.*)?$",
                         text, re.S)  # fmt: skip
        if value and not text.startswith(("enum ", "union ")):
            if re.fullmatch(r"(const )?struct blog_\w+", text):
                continue  # A type that is only named
            is_extern = text.startswith("extern")
            (source.declares if is_extern else source.defines)[value[1]] = Function(value[1])


# --- Rust -------------------------------------------------------------------------

RUST_TYPES = {
    "": "",
    "()": "",
    "u8": "8",
    "u16": "16",
    "u32": "32",
    "i32": "32",
    "c_int": "32",
    "u64": "64",
    "usize": "word",
    "isize": "word",
    "c_long": "word",
    "c_ulong": "word",
    "bool": "bool",
}
POINTER = r"[*&]|(Option<)?(NonNull|core::ptr::NonNull)<|(unsafe )?extern|Option<(unsafe )?extern"


def rust_class(text: str, known: dict[str, str]) -> str:
    text = re.sub(r"<'\w+>", "", " ".join(text.split()))
    if re.match(POINTER, text) or known.get(re.sub(r"^Option<(.*)>$", r"\1", text)) == "pointer":
        return "pointer"
    return RUST_TYPES.get(text) or known.get(text) or ("" if text in ("", "()") else "struct")


def rust_known(sources: Iterable[Source]) -> dict[str, str]:
    """Classes of types that Rust's declarations name."""
    known = {}
    for source in sources:
        for name, kind in re.findall(r"\btype (\w+) = ([^;]*);", source.bare):
            if re.match(POINTER, kind):
                known[name] = "pointer"
        transparent = r"#\[repr\(transparent\)\]\s*(?:pub(?:\([^)]*\))? )?struct (\w+)[^({;]*[({]"
        for match in re.finditer(transparent, source.bare):
            kind = source.bare[match.end() :].lstrip()
            if re.match(rf"(?:pub(?:\([^)]*\))? )?(?:\w+: )?(?:{POINTER})", kind):
                known[match[1]] = "pointer"
        for name in re.findall(
            r"#\[repr\(u32\)\]\s*(?:pub(?:\([^)]*\))? )?enum (\w+)", source.bare
        ):
            known[name] = "32"
    return known


FN = re.compile(
    r"((?:#\[[^\]]*\]\s*)*)(?:pub(?:\([^)]*\))?\s+)?(?:(?:un)?safe\s+)?(?:extern\s+\"C\"\s+)?"
    r"(fn|static(?:\s+mut)?)\s+(\$?\w+)"
)


def rust_function(match: re.Match[str], text: str, known: dict[str, str]) -> Function:
    link = re.search(r'link_name\s*=\s*"(\w+)"', match[1])
    name = link[1] if link else match[3]
    if match[2] != "fn" or "$" in name:
        return Function(name)
    start = text.index("(", match.end())
    end = closing(text, start)
    args = split(text[start + 1 : end])
    result = re.match(r"\s*->\s*([^;{]+)", text[end + 1 :])
    return Function(
        name,
        tuple(rust_class(arg.split(":", 1)[-1].strip(), known) for arg in args),
        rust_class(result[1], known) if result else "",
    )


def rust_names(source: Source, known: dict[str, str]) -> None:
    """Fills in which names of C a file in Rust defines and declares."""
    for block in re.finditer(r'\bextern "C" \{', source.code):
        inside = source.code[block.end() : closing(source.code, block.end() - 1)]
        for match in FN.finditer(inside):
            function = rust_function(match, inside, known)
            source.declares[function.name] = function
    for mark in re.finditer(r"#\[(?:unsafe\()?no_mangle\)?\]\s*", source.code):
        made = FN.match(source.code, mark.end())
        assert made, f"{source.name}: no function or variable after no_mangle"
        function = rust_function(made, source.code, known)
        if not function.name.startswith("$"):
            source.defines[function.name] = function
            continue
        # A macro makes it: each entry of its calls begins with the name.
        macros = re.findall(r"macro_rules! (\w+) \{", source.code[: mark.start()])
        for call in re.finditer(rf"(?<!_rules! )\b{macros[-1]}! \{{", source.bare):
            entries = source.bare[call.end() : closing(source.bare, call.end() - 1)]
            for name in re.findall(r"(?:^|;)\s*(blog_\w+)", entries):
                source.defines[name] = Function(name)


def flatten(prefix: tuple[str, ...], text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The paths of `use`, each with the name that it gets."""
    for entry in split(text):
        group = re.fullmatch(r"((?:\w+\s*::\s*)*)\{(.*)\}", entry, re.S)
        if group:
            yield from flatten(prefix + tuple(re.findall(r"\w+", group[1])), group[2])
            continue
        path, _, name = (word.strip() for word in entry.partition(" as "))
        words = tuple(re.findall(r"[\w*]+", path))
        if words[-1:] == ("self",):
            words = words[:-1]
        full = prefix + words
        yield full, name or full[-1]


def module_of(name: str) -> tuple[str, ...]:
    """The path of a file's module, from the crate's name on."""
    if name.startswith(MODULE):
        words = ["blog", *PurePosixPath(name).relative_to("blog").with_suffix("").parts]
    else:
        words = ["kernel", *PurePosixPath(name).relative_to("rust/kernel").with_suffix("").parts]
    if words[-1] in ("mod", "main"):
        words.pop()
    return tuple(words)


def paths_of(source: Source) -> set[tuple[str, ...]]:
    """All absolute paths that a file in Rust names."""
    module = module_of(source.name)
    # Modules inside of the file: `super` in one is nearer.
    inner = [
        (match.end(), closing(source.bare, match.end() - 1))
        for match in re.finditer(r"\bmod \w+ \{", source.bare)
    ]
    # What `super` is in a macro, its caller says.
    macros = [
        (match.end(), closing(source.bare, match.end() - 1))
        for match in re.finditer(r"\bmacro_rules! \w+ \{", source.bare)
    ]
    children = re.findall(r"\bmod (\w+);", source.bare)
    known = {name: (*module, name) for name in children}
    found = set()

    def absolute(words: tuple[str, ...], at: int) -> tuple[str, ...] | None:
        depth = sum(first <= at < last for first, last in inner)
        base: tuple[str, ...]
        # What a macro of the kernel crate names, drivers use.
        if words[0] == "crate" and text[at - 1 : at] == "$" and module[0] == "kernel":
            return None
        if words[0] == "crate":
            return (module[0], *words[1:])
        if words[0] in ("super", "self"):
            if any(first <= at < last for first, last in macros):
                return None
            ups = sum(word == "super" for word in words)
            rest = tuple(word for word in words if word not in ("super", "self"))
            ups = max(ups - depth, 0)
            base = module[: len(module) - ups] if ups < len(module) else module[:1]
            return base + rest
        if words[0] == "kernel" and module[0] == "blog":
            return words
        return None

    text = re.sub(r"\bpub\(in [\w:]+\)", lambda match: " " * len(match[0]), source.bare)
    for match in re.finditer(r"\buse\s+([^;]+);", text):
        for path, name in flatten((), match[1].replace("$crate", "crate")):
            full = absolute(path, match.start())
            if full is None and path[0] in known:
                full = known[path[0]] + path[1:]
            if full is not None:
                found.add(full)
                if name not in ("_", "*"):
                    known.setdefault(name, full)
                    source.names[name] = full
    text = re.sub(r"\buse\s+[^;]+;", lambda match: " " * len(match[0]), text)
    for match in re.finditer(r"(?<![:\w])(\w+(?:\s*::\s*\w+)+)", text):
        words = tuple(re.findall(r"\w+", match[1]))
        full = absolute(words, match.start())
        if full is None and words[0] in known:
            full = known[words[0]] + words[1:]
        if full is not None:
            found.add(full)
    return found


def node_of(name: str) -> str:
    """A file without its ending: one in C is one with that in Rust beside it."""
    return re.sub(r"\.(rs|c|h)$", "", name)


# --- the tree ---------------------------------------------------------------------


class Tree:
    def __init__(self, top: Path) -> None:
        self.top = top
        self.sources: dict[str, Source] = {}
        for root in (MODULE, CRATE):
            for path in sorted((top / root).rglob("*")):
                name = str(path.relative_to(top))
                if path.suffix in (".rs", ".c", ".h") and not self.is_test(name):
                    self.add(name, path.read_text())
        self.add("rust/kernel/blog.rs", (top / "rust/kernel/blog.rs").read_text())
        for name, there in STAND_INS.items():
            if (top / name).exists():
                self.add(there, (top / name).read_text())
        rust = [source for source in self.sources.values() if source.is_rust]
        known = rust_known(rust)
        for source in self.sources.values():
            if source.is_rust:
                rust_names(source, known)
            else:
                c_names(source)
        self.modules = {module_of(source.name): source for source in rust}
        self.paths = {source.name: paths_of(source) for source in rust}
        self.definers: dict[str, list[Source]] = defaultdict(list)
        for source in self.sources.values():
            for symbol in source.defines:
                self.definers[symbol].append(source)
        self.floors = self.read_floors()
        self.edges = {name: self.uses(source) for name, source in self.sources.items()}
        self.parts = {source.part for source in self.sources.values() if source.part} - {"mod"}
        self.depends = self.read_kconfig()

    @staticmethod
    def is_test(name: str) -> bool:
        return "/tests/" in name or name.endswith("/tests.rs")

    def add(self, name: str, text: str) -> None:
        code, bare = stripped(text, name.endswith(".rs"))
        source = Source(name, code, bare)
        if name.endswith(".rs"):
            source.types = re.findall(r"\bpub(?:\([^)]*\))?\s+(?:unsafe\s+)?"
                                      r"(?:struct|enum|union|trait|type)\s+(\w+)", bare)  # fmt: skip
        self.sources[name] = source

    def read_floors(self) -> list[str]:
        """The floors, from the top down: beginnings of names."""
        text = (self.top / "blog/main.rs").read_text()
        rows = re.findall(r"^//! \| ((?:`[\w./]+`(?:, )?)+) \|", text, re.M)
        # Of several names of one floor, the others are beside the first.
        floors, self.beside = [], {}
        for first, *others in (re.findall(r"`([\w./]+)`", row) for row in rows):
            floors.append(MODULE + first)
            self.beside.update({MODULE + name: MODULE + first for name in others})
        if PARTS not in floors:
            floors.insert(1, PARTS)
        return floors + [CRATE + row for row in CRATE_FLOORS]

    def floor(self, name: str) -> int | None:
        name = name.replace("rust/kernel/blog.rs", f"{CRATE}../blog.rs")
        name = self.beside.get(name, name)
        for n, floor in enumerate(self.floors):
            if floor.endswith("/") and name.startswith(floor) or node_of(name) == node_of(floor):
                return n
        return None

    def resolve(self, path: tuple[str, ...], tries: int = 8) -> Source | None:
        """The file that has what a path names, or that gives it another name."""
        for n in range(len(path), 0, -1):
            source = self.modules.get(path[:n])
            if not source:
                continue
            rest = path[n:]
            other = source.names.get(rest[0]) if rest else None
            if other and tries and other != path:
                return self.resolve(other + rest[1:], tries - 1) or source
            return source
        return None

    def uses(self, source: Source) -> dict[str, str]:
        """The other files that a file uses, each with what it uses of it."""
        found: dict[str, str] = {}
        for path in sorted(self.paths.get(source.name, ())):
            other = self.resolve(path)
            if other and other is not source:
                found.setdefault(other.name, "::".join(path))
        if source.is_rust:
            symbols = set(source.declares) if source.name != EXPORTED else set()
        elif source.name.endswith(".c"):
            symbols = set(re.findall(r"\bblog_\w+", source.bare)) - set(source.defines)
        else:
            symbols = set()
        for symbol in sorted(symbols):
            for other in self.definers.get(symbol, ()):
                if other is not source:
                    found.setdefault(other.name, symbol)
        if not source.is_rust:
            for included in re.findall(r'#include "([^"]+)"', source.code):
                path = (self.top / source.folder / included).resolve()
                if path.is_relative_to(self.top.resolve()):
                    name = str(path.relative_to(self.top.resolve()))
                    if name in self.sources:
                        found.setdefault(name, f'"{included}"')
        return found

    def interface(self) -> list[Source]:
        """Headers for drivers, with prototypes of what BLog exports."""
        found = []
        for name in HEADERS:
            if (self.top / name).exists():
                source = Source(name, *stripped((self.top / name).read_text(), False))
                c_names(source)
                found.append(source)
        return found

    def known_symbols(self) -> set[str]:
        """Names that tests and packages define, and headers may declare."""
        found: set[str] = set()
        for root in ("blog/tests", "packaging"):
            for path in sorted((self.top / root).rglob("*.[cr]*")):
                if path.suffix in (".c", ".rs"):
                    found |= set(re.findall(r"\bblog_\w+(?=\()", path.read_text()))
        return found

    def read_kconfig(self) -> dict[str, set[str]]:
        """The symbols that each symbol of Kconfig depends on."""
        depends: dict[str, set[str]] = {}
        around: list[str] = []
        symbol = ""
        files = [self.top / "Kconfig", *sorted((self.top / "blog/parts").rglob("Kconfig"))]
        for line in "\n".join(file.read_text() for file in files).splitlines():
            words = line.split()
            if words[:1] in (["config"], ["menuconfig"]):
                symbol = words[1]
                depends[symbol] = set(SYMBOL.findall(" ".join(around)))
            elif words[:1] == ["if"]:
                around.append("" if "||" in line else line)
            elif words[:1] == ["endif"]:
                around.pop()
            elif words[:2] == ["depends", "on"] and "||" not in line:
                depends[symbol] |= set(SYMBOL.findall(line))
        return depends

    def needs(self, symbol: str) -> set[str]:
        """All symbols without which a symbol isn't set."""
        found: set[str] = set()
        todo = [symbol]
        while todo:
            for other in self.depends.get(todo.pop(), set()) - found:
                found.add(other)
                todo.append(other)
        return found


# --- the rules --------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Fault:
    """What is wrong in a file."""

    name: str
    text: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.text}" + (f" ({self.detail})" if self.detail else "")


def each_file_has_a_floor(tree: Tree) -> Iterator[Fault]:
    for name in tree.sources:
        if tree.floor(name) is None:
            yield Fault(name, "no floor in the table of blog/main.rs has it")


def arrows_point_down(tree: Tree) -> Iterator[Fault]:
    """Imports, paths, C names and included headers."""
    for name, uses in tree.edges.items():
        for other, what in uses.items():
            here, there = tree.floor(name), tree.floor(other)
            if here is not None and there is not None and there < here:
                yield Fault(name, f"uses {other}, which is above it", what)


def is_inside(one: str, other: str) -> bool:
    """Whether a file is a folder's own (mod.rs) and the other one is in the folder."""
    for outer, inner in ((one, other), (other, one)):
        path = PurePosixPath(outer)
        if path.name == "mod" and inner.startswith(f"{path.parent}/"):
            return True
    return False


def circles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """Nodes that reach each other, by Tarjan."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> Iterator[list[str]]:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                yield from visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            found = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(found) > 1:
                yield sorted(found)

    for node in sorted(graph):
        if node not in index:
            yield from visit(node)


def nothing_goes_in_circles(tree: Tree) -> Iterator[Fault]:
    """Neither files of one floor nor its folders; between floors, arrows_point_down() looks."""
    files: dict[str, set[str]] = defaultdict(set)
    folders: dict[str, set[str]] = defaultdict(set)
    for name, uses in tree.edges.items():
        for other in uses:
            if tree.floor(name) != tree.floor(other):
                continue
            here, there = tree.sources[name].home, tree.sources[other].home
            if here != there:
                folders[here].add(there)
            here, there = (node_of(tree.beside.get(file, file)) for file in (name, other))
            if here != there and not is_inside(here, there):
                files[here].add(there)
    for graph in (files, folders):
        for first, *others in circles(graph):
            # Of a file in C and one in Rust, the latter
            name = max((name for name in tree.sources if node_of(name) == first), default=first)
            yield Fault(name, f"is in a circle with {' '.join(others)}")


def the_core_names_no_part(tree: Tree) -> Iterator[Fault]:
    """Neither paths nor symbols nor options; main.rs may, which has their folder."""
    for source in tree.sources.values():
        if source.part or source.name == "blog/main.rs":
            continue
        uses = [other for other in tree.edges[source.name] if other.startswith(PARTS)]
        for other in uses:
            yield Fault(source.name, f"uses {other} of a part")
        if re.search(r"\bparts::", source.bare) and not uses:
            yield Fault(source.name, "names parts::")
        for part in sorted(tree.parts):
            symbols = set(re.findall(rf"\bblog_{part}_\w+", source.code))
            options = set(re.findall(rf"\bCONFIG_BLOG_{part.upper()}\b", source.code))
            if source.is_rust:
                symbols = symbols & (set(source.declares) | set(source.defines))
            if symbols or options:
                found = " ".join(sorted(symbols | options))
                yield Fault(source.name, f"has names of the part {part}", found)


def the_core_has_no_format_of_a_part(tree: Tree) -> Iterator[Fault]:
    """What only one part stores or shows is defined in its folder: files of wire/ that nothing else
    on the kernel side reads, nor a program that is always built; and so their types."""
    program = "".join(
        path.read_text() for path in sorted((tree.top / "scripts/blog-fmt-sidetable").glob("*.rs"))
    )
    users: dict[str, set[str | None]] = defaultdict(set)
    for name, uses in tree.edges.items():
        for other in uses:
            users[other].add(tree.sources[name].part)
    for source in tree.sources.values():
        if not source.name.startswith(WIRE) or source.name == f"{WIRE}mod.rs":
            continue
        module = PurePosixPath(source.name).stem
        found = users[source.name]
        if module in tree.parts or (
            None not in found and len(found) == 1 and not re.search(rf"\b{module}::", program)
        ):
            of = " ".join(sorted(part for part in found if part))
            yield Fault(source.name, "is a format that only a part uses", of)
            continue
        for kind in source.types:
            # Where it is used, and not defined
            use = re.compile(rf"(?<!struct )(?<!enum )(?<!impl )\b{kind}\b(?! = \d)")
            of_parts = {part for part in tree.parts if any(
                use.search(other.bare) for other in tree.sources.values() if other.part == part
            )}  # fmt: skip
            is_core = any(
                use.search(other.bare)
                for other in tree.sources.values()
                if not other.part and other.name != "rust/kernel/blog.rs"
            )
            if len(of_parts) == 1 and not is_core:
                yield Fault(source.name, f"has {kind}, which only a part uses", *of_parts)


def parts_use_what_they_depend_on(tree: Tree) -> Iterator[Fault]:
    """A part has an option BLOG_NAME; it uses other parts as `depends on` says."""
    for part in sorted(tree.parts):
        if "BLOG" not in tree.needs(f"BLOG_{part.upper()}"):
            yield Fault("Kconfig", f"has no BLOG_{part.upper()} that depends on BLOG")
    for name, uses in tree.edges.items():
        mine = tree.sources[name].part
        for other in uses:
            theirs = tree.sources[other].part
            if mine is None or theirs is None or mine == theirs or "mod" in (mine, theirs):
                continue
            if f"BLOG_{theirs.upper()}" not in tree.needs(f"BLOG_{mine.upper()}"):
                yield Fault(name, f"uses the part {theirs}, on which BLOG_{mine.upper()} "
                            "doesn't depend")  # fmt: skip


def names_of_types_are_unique(tree: Tree) -> Iterator[Fault]:
    places: dict[str, set[str]] = defaultdict(set)
    for source in tree.sources.values():
        for name in source.types:
            places[name].add(source.name)
    for name, found in sorted(places.items()):
        first, *others = sorted(found)
        if others:
            yield Fault(first, f"its type {name} has the name of another one in {' '.join(others)}")


def prototypes_agree(tree: Tree) -> Iterator[Fault]:
    """Numbers and classes of arguments, and of results: as C and as Rust have them."""
    seen: dict[str, tuple[str, Function]] = {}
    # Definitions come first, then prototypes in C.
    order = [
        *((source, source.defines) for source in tree.sources.values()),
        *((source, source.declares) for source in tree.sources.values() if not source.is_rust),
        *((source, source.declares) for source in tree.sources.values() if source.is_rust),
        *((source, source.declares) for source in tree.interface()),
    ]
    for source, functions in order:
        for symbol, function in functions.items():
            name, other = seen.setdefault(symbol, (source.name, function))
            if not function.fits(other):
                yield Fault(source.name, f"has {symbol} otherwise than {name}",
                            f"{function}, not {other}")  # fmt: skip
            if other.args is None and function.args is not None:
                seen[symbol] = (source.name, function)


def c_stands_beside_its_rust(tree: Tree) -> Iterator[Fault]:
    """One file in Rust declares what a file in C defines; both are in one folder. What differs by
    architecture may be in its folder arch/."""
    users: dict[str, set[str]] = defaultdict(set)
    for source in tree.sources.values():
        for symbol in source.declares if source.is_rust else ():
            for other in tree.definers.get(symbol, ()):
                if not other.is_rust and source.name != EXPORTED:
                    users[other.name].add(source.name)
    for name, found in sorted(users.items()):
        folder = tree.sources[name].home
        others = sorted(user for user in found if tree.sources[user].folder != folder)
        if len(found) - len(others) > 1:
            yield Fault(name, "several files in Rust declare what it defines",
                        " ".join(sorted(found)))  # fmt: skip
        for user in others:
            yield Fault(name, f"{user} of another folder declares what it defines")


def headers_declare_their_folder(tree: Tree) -> Iterator[Fault]:
    """A header in C is for what its folder defines."""
    known = tree.known_symbols()
    for source in tree.sources.values():
        if not source.name.endswith(".h"):
            continue
        others: dict[str, list[str]] = defaultdict(list)
        for symbol in source.declares:
            # The kernel crate has no header of its own.
            folders = {
                source.folder if other.name.startswith(CRATE) else other.home
                for other in tree.definers.get(symbol, ())
            }
            if not folders and symbol not in known:
                yield Fault(source.name, f"declares {symbol}, which nothing defines")
            elif folders and source.folder not in folders:
                others[sorted(folders)[0]].append(symbol)
        for folder, symbols in sorted(others.items()):
            yield Fault(source.name, f"declares what {folder} defines", " ".join(symbols))


RULES = (
    each_file_has_a_floor,
    arrows_point_down,
    nothing_goes_in_circles,
    the_core_names_no_part,
    the_core_has_no_format_of_a_part,
    parts_use_what_they_depend_on,
    names_of_types_are_unique,
    prototypes_agree,
    c_stands_beside_its_rust,
    headers_declare_their_folder,
)


def faults(top: Path) -> list[Fault]:
    tree = Tree(top)
    return sorted(fault for rule in RULES for fault in rule(tree))


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(map(str, wrong)))
    sys.exit(1 if wrong else 0)
