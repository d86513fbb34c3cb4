# SPDX-License-Identifier: GPL-2.0
"""Just enough of ELF to look at vmlinux and .ko files the way a loader does.

A second reader of .debug.blog beside scripts/blog-fmt-sidetable, on purpose: what
tests compare should not share code. For files of our own builds only.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHF_ALLOC = 2
SHT_NOBITS = 8
SHT_SYMTAB = 2
SITE_SIZE = 8
MAGIC_SITE = 0x44464C42


@dataclass
class Section:
    """One section of an ELF file."""

    name: str
    kind: int
    flags: int
    data: bytes
    size: int

    @property
    def loaded(self) -> bool:
        """Is it in memory at run time?"""
        return bool(self.flags & SHF_ALLOC)


@dataclass
class Descriptor:
    """A call site's descriptor in .debug.blog."""

    fmt: bytes
    file: bytes
    module: bytes
    names: list[bytes]
    line: int


class Image:
    """A 64-bit little-endian ELF file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        blob = path.read_bytes()
        if blob[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: not a 64-bit little-endian ELF file")
        (offset,) = struct.unpack_from("<Q", blob, 40)
        size, count, names = struct.unpack_from("<HHH", blob, 58)
        heads = [struct.unpack_from("<IIQQQQ", blob, offset + n * size) for n in range(count)]
        table = blob[heads[names][4] : heads[names][4] + heads[names][5]]
        self.sections = []
        for name, kind, flags, _, start, length in heads:
            text = table[name : table.index(b"\0", name)].decode()
            data = b"" if kind == SHT_NOBITS else blob[start : start + length]
            self.sections.append(Section(text, kind, flags, data, length))
        self._links = [
            struct.unpack_from("<I", blob, offset + n * size + 40)[0] for n in range(count)
        ]

    def section(self, name: str) -> Section | None:
        """The section of this name, or None."""
        return next((s for s in self.sections if s.name == name), None)

    def symbols(self) -> Iterator[tuple[str, str | None, int]]:
        """All symbols: (name, name of its section or None, value)."""
        for table, link in zip(self.sections, self._links):
            if table.kind != SHT_SYMTAB:
                continue
            names = self.sections[link].data
            for name, _, _, index, value, _ in struct.iter_unpack("<IBBHQQ", table.data):
                text = names[name : names.index(b"\0", name)].decode()
                inside = 0 < index < len(self.sections)
                yield text, self.sections[index].name if inside else None, value

    def loaded(self) -> list[Section]:
        """Sections that are in memory at run time and have contents."""
        return [s for s in self.sections if s.loaded and s.data]

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
        return Descriptor(fmt, file, module, names.split(b"\x1f") if names else [], line)
