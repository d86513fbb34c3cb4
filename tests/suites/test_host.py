# SPDX-License-Identifier: GPL-2.0
"""The tests of the cargo workspace: decoder, side tables, models, and the kernel's own sources
where they compile on the host. Each test of cargo is one here."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from conftest import TOP, Run, files


def written(*sources: str) -> set[str]:
    """The names of the tests in the sources."""
    names: set[str] = set()
    for name in files(*sources):
        text = (TOP / name).read_text()
        names.update(re.findall(r"#\[test\]\s+(?:#\[.*\]\s+)*fn (\w+)", text))
    return names


def impossible() -> set[str]:
    """Tests that need terminals, in a chroot that has none."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return written("tools/blog-decode/tests/it/progress.rs")
    return set()


# It compiles all crates, beside another suite.
@pytest.mark.timeout(3600)
def test_workspace(work: Path, subtests: pytest.Subtests) -> None:
    skipped = impossible()
    for name in skipped:
        with subtests.test(msg=name):
            pytest.skip("needs a terminal: no /dev/pts is mounted here")
    output = work / "output"
    try:
        with output.open("w") as file:
            done = subprocess.run(
                ["cargo", "test", "--locked", "--workspace", "--offline", "--no-fail-fast",
                 "--", *(f"--skip={name}" for name in skipped)],
                cwd=TOP, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False)  # fmt: skip
    finally:
        # If a test does not end, this names it.
        lines = output.read_text(errors="replace").splitlines()
        print("\n".join(lines[-40:]))
    text = "\n".join([*lines, ""])
    said = dict(re.findall(r"^---- (.*) stdout ----\n\n?((?:.+\n)+)", text, re.MULTILINE))
    ended = re.findall(r"^test (.*) \.\.\. (ok|FAILED|ignored)(.*)", text, re.MULTILINE)
    for test, end, why in ended:
        if "test_host.py runs it" in why:
            continue
        with subtests.test(msg=test):
            if end == "ignored":
                pytest.skip(f"ignored{why}")
            assert end == "ok", said.get(test)
    assert ended and not done.returncode, f"status {done.returncode}"
    ran = {test.split()[0].rpartition("::")[2] for test, _, _ in ended}
    missing = written("*.rs", ":!blog/tests", ":!blog/parts") - ran - skipped
    assert not missing, f"in no crate, or in none that is built: {missing}"


def test_a_full_disk(sh: Run) -> None:
    """The one test of cargo's that mounts."""
    for options in ("--mount", "--map-root-user --mount"):
        if not subprocess.run(["unshare", *options.split(), "true"], check=False).returncode:
            break
    else:
        pytest.skip("needs CAP_SYS_ADMIN or user namespaces: docker run --cap-add SYS_ADMIN")
    said = sh("cargo", "test", "--locked", "--offline", "--workspace", "--test", "it",
              "--", "--ignored", cwd=TOP, env=os.environ | {"BLOG_UNSHARE": options})  # fmt: skip
    assert "a_full_disk_costs_the_oldest_files_first ... ok" in said
