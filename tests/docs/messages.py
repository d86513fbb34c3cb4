# SPDX-License-Identifier: GPL-2.0
"""What BLog prints to the kernel's log: by its sources, and by Documentation/blog/messages.rst."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "Documentation/blog/messages.rst"
FOLDERS = ("blog", "rust/kernel/blog", "packaging/anykernel")
# Texts of others that BLog passes on: last words, and in packaging/anykernel what Rust prints
PASSED_ON = {"...", "blog: ..."}


def shown(literal: str) -> str:
    """A format string of Rust or C, with words for what it prints."""
    text = re.sub(r"\\\n\s*", "", literal).removesuffix("\\n")
    text = re.sub(r"\{e:\?\}|%pe", "ERROR", text)
    text = re.sub(r"\{(\w+)[^}]*\}", lambda name: name[1].upper(), text)
    text = re.sub(r"\{[^}]*\}|%[-.*\d]*l{0,2}[a-z]", "...", text)
    return text.removeprefix("blog: ") if text not in PASSED_ON else ""


def collected() -> set[str]:
    """The messages of the sources, without those of tests."""
    call = re.compile(
        r"\b(?:pr|dev)_(?:emerg|alert|crit|err|warn|notice|info)(?:_once|_ratelimited)?"
        r'!?\((?!\)|\$)\s*(?:[^"();]+,\s*)?(?:"((?:[^"\\]|\\.)*)")?', re.S)  # fmt: skip
    found: set[str] = set()
    for path in sorted(path for name in FOLDERS for path in (TOP / name).rglob("*.[crh]*")):
        if "tests" not in path.relative_to(TOP).as_posix():
            for match in call.finditer(path.read_text()):
                assert match[1], f"{path}: {match[0]}: its text is no literal"
                found.add(shown(match[1]))
    return found - {""}


def described() -> list[str]:
    """The messages of the page, in its order, which have a text."""
    return re.findall(r"^``(.*)``\n  \S", PAGE.read_text(), re.MULTILINE)
