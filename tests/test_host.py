# SPDX-License-Identifier: GPL-2.0
"""The host tests of every cargo workspace: decoder, side tables, models, and the kernel's own
sources where they compile on the host. Each test of cargo is one here."""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import TOP, files

TESTS = 540
SECONDS = 500
TIER = "fast"


@pytest.mark.parametrize("name", [str(Path(lock).parent) for lock in files("*Cargo.lock")])
def test_workspace(name: str, subtests: pytest.Subtests) -> None:
    done = subprocess.run(
        ["cargo", "test", "--locked", "--workspace", "--offline", "--no-fail-fast"],
        cwd=TOP / name, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=False)  # fmt: skip
    said = dict(re.findall(r"^---- (.*) stdout ----\n\n?((?:.+\n)+)", done.stdout, re.MULTILINE))
    ended = re.findall(r"^test (.*) \.\.\. (ok|FAILED|ignored)(.*)", done.stdout, re.MULTILINE)
    for test, end, why in ended:
        with subtests.test(msg=test):
            if end == "ignored":
                pytest.skip(f"ignored{why}")
            assert end == "ok", said.get(test)
    assert ended and not done.returncode, "\n".join(done.stdout.splitlines()[-40:])
