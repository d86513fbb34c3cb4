# SPDX-License-Identifier: GPL-2.0
"""Rust Binder: a load between processes, of which each transaction is recorded, by what
Binder itself has counted; and the kernel's own test of binderfs."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import vm
from conftest import TOP, Run, Tap

pytestmark = pytest.mark.kernels("x86-y")

HERE = TOP / "tests/guest/binder"
CLIENTS, CALLS = 16, 500
SELFTEST = "tools/testing/selftests/filesystems/binderfs/binderfs_test.c"


@pytest.fixture(scope="module")
def talk(work: Path, sh: Run) -> Path:
    """The program that talks over Binder."""
    out = work / "talk"
    sh("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", "-o", out,
       HERE / "talk.c")  # fmt: skip
    return out


def records(decoder: Path, sh: Run, snapshot: Path) -> list[dict[str, Any]]:
    said = sh(decoder, "--sidetable", vm.kernel("x86-y").build / "vmlinux", "--modules", "/nowhere",
              "--json", snapshot)  # fmt: skip
    return [json.loads(line) for line in said.splitlines()]


@pytest.fixture(scope="module")
def loaded(work: Path, talk: Path) -> vm.Result:
    """The files of a guest under load."""
    (work / "params").write_text(f"clients={CLIENTS}\ncalls={CALLS}\n")
    result = vm.run(work, vm.kernel("x86-y"), HERE / "load.sh",
                    files={"binder/params": work / "params"}, programs={"bin/talk": talk})  # fmt: skip
    assert not result.problem, result.told()
    return result


def test_each_transaction_is_recorded(loaded: vm.Result, decoder: Path, sh: Run) -> None:
    """Sent and delivered, by Binder's own counters."""
    found = records(decoder, sh, loaded.out / "binder.snap")
    assert not [r for r in found if r["type"] == "lost"]
    messages = [r["message"] for r in found if r["type"] == "record"]
    recorded = Counter(message.split()[0] for message in messages)
    counted = re.findall(r"^(B[CR]_\w+): (\d+)$", (loaded.out / "stats").read_text(), re.MULTILINE)
    counts = {name: int(number) for name, number in counted}
    assert counts["BC_TRANSACTION"] == CLIENTS * CALLS
    for name in ("BC_TRANSACTION", "BC_REPLY", "BR_TRANSACTION", "BR_REPLY"):
        assert recorded[name] == counts[name], name
    assert recorded["delivering"] == counts["BR_TRANSACTION_COMPLETE"]


def test_a_transaction_can_be_followed(loaded: vm.Result, decoder: Path, sh: Run) -> None:
    """By its number, from the thread that sends it to the one that gets it."""
    found = [r for r in records(decoder, sh, loaded.out / "binder.snap") if r["type"] == "record"]
    sent = {r["message"].split()[1]: r for r in found if r["message"].startswith("BC_TRANSACTION ")}
    got = {r["message"].split()[1]: r for r in found if r["message"].startswith("BR_TRANSACTION ")}
    assert sent.keys() == got.keys()
    for number, r in got.items():
        caller = sent[number]
        assert f" from {caller['tgid']}:{caller['pid']} " in r["message"]
        assert r["comm"] == "server" and caller["comm"] == "talk"
        assert caller["time"] <= r["time"]


def test_binderfs_selftest(work: Path, sh: Run, tap: Tap) -> None:
    program = work / "binderfs_test"
    source = vm.places()[1] / SELFTEST
    sh("cc", "-O2", "-static", "-pthread", "-I", source.parents[2], "-o", program, source)
    result = vm.run(work / "selftest", vm.kernel("x86-y"), HERE / "selftest.sh",
                    programs={"bin/binderfs_test": program})  # fmt: skip
    tap(result.lines())
    assert not result.problem, result.told()
