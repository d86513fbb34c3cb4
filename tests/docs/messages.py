#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes Documentation/blog/messages.rst: what BLog prints to the kernel's log, cause and remedy.

Run it after a message has changed. It fails if a message has no entry, or an entry no message.
"""

import re
import textwrap
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "Documentation/blog/messages.rst"
FOLDERS = ("blog", "rust/kernel/blog", "packaging/anykernel")
# Texts of others that BLog passes on: last words, and in packaging/anykernel what Rust prints
PASSED_ON = {"...", "blog: ..."}

HEAD = """\
.. SPDX-License-Identifier: GPL-2.0

===============
Kernel messages
===============

All that BLog prints to the kernel's log, by the alphabet, with cause and remedy. The lines begin
with ``blog:``. Words in capitals, and ``...``, stand for names and numbers. An ERROR is ``ENOMEM``
(the machine is short of memory), ``ENOSPC`` (a limit is reached: ``blog.max_kb``, or 1024
components), or ``EINVAL`` (not understood).

Lines with ``blog-words:`` are records: :doc:`post-mortem`, "Without a dump". A ``WARNING`` whose
trace names ``blog`` is a bug.

.. Written by tests/docs/messages.py of BLog's repository, from the sources and its table.

"""

# By text: the cause, and what to do
MESSAGES = {
    "... was built for another BLog: it can't log; build it again":
        "Compile the module again for the BLog that is loaded. Until then its calls are off.",
    "... was stripped of its symbols: it can't log; use strip -g":
        "BLog finds calls by symbols that are gone. Install the module as it was built, or strip "
        "only debug information.",
    "...: can't have all settings that component= wishes: ERROR":
        "A setting of ``blog.component`` does not fit: mostly ``size_kb``. The others are set.",
    "...: has ... KiB of memory, not SIZE_KB":
        "``blog.max_kb`` or the machine has no more. The component keeps less. Make room, then "
        "write ``size_kb`` again.",
    "...: has no memory: ERROR":
        "There aren't even 16 KiB. Records count as lost. Make room, then write 1 to ``enable``.",
    "...: settings are out of range, so they are others":
        "A fault of the driver, whose component declares a size outside of the limits.",
    "...=...: ERROR, left out":
        "BLog doesn't understand the value of a parameter; the default holds.",
    "NAME and later modules can't log: no site ids are left":
        "All 262,143 ids are taken, after many loads of different builds. Reboot.",
    "NAME can't log: its build has not run blog-fmt-sidetable on it":
        "The module has calls, and no side table. Build it with the Makefile of a kernel with "
        "BLog, or with ``driver.mk``.",
    "NAME: its sites can't log: ERROR":
        "BLog could not list the module's calls. Make memory free, and load the module again.",
    "can't start, so nothing is logged: ERROR":
        "BLog found no memory, or the kernel lacks a function. Drivers run as without BLog.",
    "clock isn't auto, counter or mono, so it is auto":
        "Correct ``blog.clock``.",
    "clock=counter: there is no usable counter, so it is auto":
        "BLog can't read this processor's counter, or doesn't know its rate. Remove the parameter.",
    "clock=counter: this counter may stop or differ between CPUs":
        "The kernel doesn't vouch for the counter. If times of CPUs contradict each other, use "
        "``blog.clock=auto``.",
    "component ... can't log: ERROR":
        "Memory is short, or there are more than 1024 components. Free those whose drivers are "
        "gone: write 0 to ``enable`` and 1 to ``clear``.",
    "component ..., and perhaps others, can't log: ERROR":
        "The same of a component for a device or a mount, printed once; ``inert`` in ``stats`` "
        "counts them.",
    "component= is not UTF-8, left out":
        "Correct ``blog.component``.",
    "component=TEXT: ERROR, left out":
        "The word has an unknown key, or a value that is out of range. With ``ENOSPC``, all "
        "settings together are longer than 3840 bytes.",
    "crash tools don't know the latest image: ERROR":
        "Memory is short. A crash dump lacks the latest module, until another one is loaded.",
    "neither debugfs nor tracefs is allowed, so there are no files; crash dumps and last "
    "words have the records":
        "The kernel has neither file system, or refuses them: by ``debugfs=off``, or by lockdown "
        "at the level ``confidentiality``. Read the log from a dump.",
    "no last words: ERROR":
        "There is no memory for them. Nothing else is affected.",
    "no memory to remember which sites were switched":
        "A module was unloaded whose calls ``control`` had switched. If it comes back, switch "
        "them again.",
    "no room for all images in the memory of blog.persist":
        "So many modules log that records of the last ones will be hex in the next boot. Reserve "
        "more memory.",
    "persist=NAME: no memory for a copy of the last log, so this boot keeps nothing until 1 "
    "is written to previous/clear":
        "Save ``previous/snapshot``, then write 1 to ``previous/clear``. To avoid this, raise "
        "``blog.max_kb``.",
    "persist=NAME: no memory is reserved by this name: reserve_mem=SIZE:4096:NAME":
        "The command line lacks ``reserve_mem`` with this name, the kernel is older than 6.12, or"
        " it found no room.",
    "persist=NAME: the last boot's log has version N, unknown here: lost":
        "Another version of BLog logged. This log is gone.",
    "persist=NAME: the log of the last boot is damaged, and lost":
        "Firmware, or something else, wiped or used a part: :doc:`cookbook`, \"Keep a log across a"
        " reboot\".",
    "persist=NAME: the log of the last boot is lost: ERROR":
        "It could not be copied or read. This boot keeps its own log.",
    "persist=NAME: too small (ERROR)":
        "Reserve at least as much as the sum of ``size_kb``, and a tenth more.",
    "the counter stops or can't be trusted: from now on, the clock is the monotonic one":
        "The kernel has marked the counter unstable, or it jumped. Records before this line may "
        "have wrong times. Boot with ``blog.clock=mono``.",
    "the next boot won't know the latest of this one: ERROR":
        "The records survive, but the newest modules or clocks may be missing.",
    "this is a kdump kernel: nothing is recorded without kdump=1":
        "Not an error: a kdump kernel has little memory.",
}  # fmt: skip


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


def page() -> str:
    found = collected()
    assert not (lacks := found - MESSAGES.keys()), f"messages without cause and remedy: {lacks}"
    assert not (gone := MESSAGES.keys() - found), f"no such messages: {gone}"
    entries = (
        f"``{text}``\n" + textwrap.indent(textwrap.fill(MESSAGES[text], 96), "  ") + "\n"
        for text in sorted(MESSAGES, key=lambda text: text.strip(".: ").lower())
    )
    return HEAD + "\n".join(entries)


if __name__ == "__main__":
    PAGE.write_text(page())
