# SPDX-License-Identifier: GPL-2.0
"""Messages of a captured driver in Rust: its records decode to the lines that it printed.
blog/tests/capture has the driver."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import vm
from conftest import TOP, Run

pytestmark = pytest.mark.kernels("uml")

MODULE = "blog_capture_kunit"
SOURCE = TOP / "blog/tests/capture/blog_capture_kunit.rs"


class Said:
    """The printed lines and the records of one boot."""

    def __init__(self, printed: str, records: list[dict[str, Any]]):
        ours = rf"^(?:\[ *\d+\.\d+\] )?(?:{MODULE}: |faux_driver (?=captured\d: ))(.*)$"
        self.printed = re.findall(ours, printed, re.MULTILINE)
        self.records = records

    def texts(self, *, levels: str = "err warn info") -> list[str]:
        return [r["message"] for r in self.records if r["level"] in levels.split()]


@pytest.fixture(scope="module")
def said(work: Path, decoder: Path, sh: Run) -> Said:
    kernel = vm.kernel("uml")
    args = "kunit.enable=1 kunit.autorun=1 kunit.filter_glob=blog_capture.*"
    result = vm.run(work, kernel, TOP / "tests/guest/e2e/capture.sh",
                    machine=vm.Machine(args=args))  # fmt: skip
    assert not result.problem, result.told()
    decoded = sh(decoder, "--sidetable", kernel.build / "vmlinux", "--modules", "/nowhere", "--json",
                 result.out / "capture.snap")  # fmt: skip
    records = [json.loads(line) for line in decoded.splitlines()]
    return Said((result.out / "dmesg").read_text(), records)


def test_records_decode_to_what_is_printed(said: Said) -> None:
    """In order, including hashes of addresses. A continued line is two records; a long message is
    cut."""
    printed = [text for text in said.printed if "ä" * 200 not in text]
    recorded: list[str] = []
    for text in said.texts():
        if text.startswith(", "):
            recorded[-1] += text
        elif not text.endswith("…"):
            recorded.append(text)
    assert recorded == printed
    assert len(recorded) > 60


def test_debug_messages_are_recorded_where_they_do_not_print(said: Said) -> None:
    recorded = set(said.texts(levels="debug"))
    assert {"debug 7", "captured0: debug 7", "captured1: 7"} <= recorded
    assert not recorded & set(said.printed)


def test_text_is_cut_with_a_mark(said: Said) -> None:
    assert "ä" * 125 + "…" in said.texts()


def test_a_record_says_who_and_where(said: Said) -> None:
    lines = SOURCE.read_text().splitlines()
    levels = ["err"] * 4 + ["warn"] + ["info"] * 2 + ["debug"]
    names = ["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"]
    by_text = {r["message"]: r for r in said.records}
    for prefix, macro in (("", "pr_"), ("captured0: ", "dev_")):
        for n, (name, level) in enumerate(zip(names, levels, strict=True)):
            record = by_text[f"{prefix}{name} {n}"]
            assert (record["component"], record["level"]) == (MODULE, level)
            assert Path(record["file"]).name == SOURCE.name
            call = macro + {"dev_debug": "dev_dbg"}.get(macro + name, macro + name)[len(macro) :]
            assert call in lines[record["line"] - 1]
    args = by_text["captured2: 31 of foreign"]["args"]
    assert [(arg["name"], arg["type"], arg.get("value", arg.get("text"))) for arg in args] == [
        ("message", "text", "31 of foreign"),
        ("dev", "CStr", "captured2"),
    ]
