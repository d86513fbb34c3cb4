# SPDX-License-Identifier: GPL-2.0
"""Sections and symbols of vmlinux and .ko files, as llvm-readelf has them, and log calls.

A second reader of .debug.blog beside scripts/blog-fmt-sidetable, on purpose: what
tests compare should not share code. For files of our own builds only.
"""

import re
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SITE_SIZE = 8
MAGIC_SITE = 0x44464C42
MAGIC_C = 0x43464C42
# Their formats are printed, too, so they are in memory.
PRINTED = re.compile(rb"c_printf\.c|c_capture\.c|tests/capture/|android/binder/")
SECTION = re.compile(r"^ *\[ *([1-9]\d*)\] (\S+) +(\S+) +\w+ (\w+) (\w+) \w+ +([A-Za-z]*) ", re.M)
SYMBOL = re.compile(r"^ *\d+: (\w+) +\w+ +\w+ +\w+ +\w+ +(\w+) (\S+)$", re.M)


@dataclass
class Section:
    """One section of an ELF file."""

    name: str
    data: bytes
    size: int
    loaded: bool  # in memory at run time


@dataclass
class Descriptor:
    """A call site's descriptor in .debug.blog."""

    fmt: bytes
    file: bytes
    module: bytes
    names: list[bytes]
    line: int


class Image:
    """An ELF file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        blob = path.read_bytes()
        self.sections: dict[str, Section] = {}
        for number, name, kind, start, size, flags in SECTION.findall(self._readelf("-SW")):
            at, length = int(start, 16), int(size, 16)
            data = b"" if kind == "NOBITS" else blob[at : at + length]
            self.sections[number] = Section(name, data, length, "A" in flags)

    def _readelf(self, what: str) -> str:
        command = ["llvm-readelf", what, str(self.path)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def section(self, name: str) -> Section | None:
        """The section of this name, or None."""
        return next((s for s in self.sections.values() if s.name == name), None)

    def symbols(self, section: str) -> Iterator[tuple[str, int]]:
        """Names and values of the symbols in a section."""
        for value, number, name in SYMBOL.findall(self._readelf("-sW")):
            if number in self.sections and self.sections[number].name == section:
                yield name, int(value, 16)

    def loaded(self) -> list[Section]:
        """Sections that are in memory at run time and have contents."""
        return [s for s in self.sections.values() if s.loaded and s.data]

    def descriptors(self) -> list[Descriptor]:
        """The call sites that .debug.blog describes."""
        section = self.section(".debug.blog")
        data = section.data if section else b""
        found, at = [], 0
        while at + 8 <= len(data):
            magic, length = struct.unpack_from("<II", data, at)
            if length < 8 or at + length > len(data):
                raise ValueError(f"{self.path}: .debug.blog is damaged at {at}")
            if magic == MAGIC_SITE:
                found.append(self._descriptor(data[at : at + length]))
            elif magic == MAGIC_C:
                found.append(self._c_descriptor(data[at : at + length]))
            at += length
        return found

    @staticmethod
    def _descriptor(data: bytes) -> Descriptor:
        line, _, argc, _, _ = struct.unpack_from("<IBBBB", data, 16)
        lengths = struct.unpack_from("<4H", data, 24)
        at, parts = 32 + 8 * argc, []
        for length in lengths:
            parts.append(data[at : at + length])
            at += length
        fmt, file, module, names = parts
        text = b"" if PRINTED.search(file) else fmt
        return Descriptor(text, file, module, names.split(b"\x1f") if names else [], line)

    @staticmethod
    def _c_descriptor(data: bytes) -> Descriptor:
        """Of a call in C: as the source has it, but for placeholders as Rust has them."""
        (line,) = struct.unpack_from("<I", data, 24)
        at, parts = 40, []
        for length in struct.unpack_from("<4H", data, 32):
            parts.append(data[at : at + length])
            at += length
        fmt, file, module, _ = parts
        text = re.sub(rb"%[-+ #0-9.*hljztL]*[a-zA-Z0-9]+", b"{}", fmt.strip(b'"'))
        return Descriptor(b"" if PRINTED.search(file) else text, file, module, [], line)
