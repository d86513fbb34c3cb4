# SPDX-License-Identifier: GPL-2.0
"""Shows that the strings of log calls are not in loaded memory.

In no allocated section of an image (vmlinux or .ko) there is a format string of
its log calls, or a long literal part of one. Where there is an image of the same
name that was built without BLog, the rest is compared with that: no short format
string, no file name and no argument name may be in loaded memory more often than
there. (Panics have file names too, and an argument may be called like anything.
Names of one or two letters are not looked for: code has such bytes by chance.)
"""

import re
from collections.abc import Iterable, Iterator

from images.blogelf import SITE_SIZE, Image

LONG = 12  # bytes of text that isn't in a kernel by chance
SHORT = 3  # bytes of text that isn't in a module by chance: less is any instruction


def fragments(fmt: bytes) -> set[bytes]:
    """A format string and the literal parts of it."""
    return {fmt, *re.split(rb"\{\{|\}\}|\{[^{}]*\}", fmt)} - {b""}


def count(image: Image, text: bytes) -> int:
    """How often a string stands in loaded memory, not within a longer word."""
    word = rb"(?<![A-Za-z0-9_])" + re.escape(text) + rb"(?![A-Za-z0-9_])"
    return sum(len(re.findall(word, section.data)) for section in image.loaded())


def more_often(texts: Iterable[bytes], image: Image, without: Image) -> Iterator[str]:
    """Sentences about texts that are in one image's memory more often than in another's."""
    for text in sorted(texts):
        here, there = count(image, text), count(without, text)
        if here > there:
            yield f"{text!r}: {here} times, {there} without BLog"


def around(image: Image, name: str) -> Iterator[str]:
    """Sentences about the symbols by which BLog finds a module's table."""
    section, symbol = image.section(name), "__" + name.lstrip(".")
    found = list(image.symbols(name))
    first = min((value for text, value in found if text == symbol), default=None)
    end = max((value for text, value in found if text == symbol + "_end"), default=None)
    if section and (first, end) != (0, section.size):
        yield f"they are at {first} and {end} of {section.size} bytes"


def check(image: Image, without: Image | None = None) -> Iterator[tuple[str, list[str]]]:
    """Yields (what should hold, sentences about where it doesn't)."""
    sites = image.descriptors()
    table = image.section(".blog_sites")
    fmt = image.section(".debug.blog")
    yield f"{len(sites)} call sites are described in .debug.blog", [] if sites else ["none"]
    yield ".debug.blog is not loaded", ["it is"] if fmt and fmt.loaded else []
    entries = (table.size if table else 0) // SITE_SIZE
    if table or image.path.suffix == ".ko":
        yield (
            f"a call site takes {SITE_SIZE} bytes of loaded memory",
            ([] if entries == len(sites) else [f"{entries} entries, {len(sites)} sites"]),
        )
    for name in (".blog_sites", ".blog_components") if image.path.suffix == ".ko" else ():
        yield f"symbols are around all of {name}", list(around(image, name))
    formats = {text for site in sites for text in fragments(site.fmt)}
    yield (
        "no format string in loaded memory",
        [
            repr(text)
            for text in sorted(formats)
            if len(text) >= LONG and any(text in section.data for section in image.loaded())
        ],
    )
    if without:
        yield (
            "no short format string more than without BLog",
            list(more_often({text for text in formats if len(text) >= SHORT}, image, without)),
        )
        names = {site.file for site in sites} | {name for site in sites for name in site.names}
        yield (
            "no file or argument name more than without BLog",
            list(more_often({name for name in names if len(name) >= SHORT}, image, without)),
        )
