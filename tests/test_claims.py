# SPDX-License-Identifier: GPL-2.0
"""What README.md and CONTRIBUTING.md promise, and no other suite holds: nothing needs a newer
Rust than the one that is named.
"""

import re
import subprocess
from pathlib import Path

from conftest import TOP, Run

TESTS = 2
SECONDS = 3
TIER = "fast"


def oldest_rust() -> str:
    found = re.search(
        r"^RUSTC_MIN=(\d+\.\d+)", (TOP / "scripts/versions.sh").read_text(), re.MULTILINE
    )
    assert found
    return found[1]


def test_the_oldest_rust_is_the_same_everywhere(sh: Run) -> None:
    assert f"Rust {oldest_rust()} or newer" in (TOP / "README.md").read_text()
    assert f"minimum, {oldest_rust()} for" in (TOP / "CONTRIBUTING.md").read_text()
    for name in sh("git", "-C", TOP, "ls-files", "*Cargo.toml").split():
        if "[package]" in (text := (TOP / name).read_text()):
            assert f'\nrust-version = "{oldest_rust()}"\n' in text, name


def test_what_is_newer_than_that_does_not_pass_clippy(tmp_path: Path) -> None:
    """By rust-version; scripts/check runs clippy on all crates, and with them on the kernel's
    sources that they compile."""

    def clippy(body: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "src").mkdir(exist_ok=True)
        (tmp_path / "src/lib.rs").write_text(f"pub fn even(n: u32) -> bool {{ {body} }}\n")
        (tmp_path / "Cargo.toml").write_text(
            f'[package]\nname = "old"\nedition = "2021"\nrust-version = "{oldest_rust()}"\n'
        )
        command = ["cargo", "clippy", "--quiet", "--", "-D", "warnings"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (good := clippy("n % 2 == 0")).returncode == 0, good.stderr
    newer = clippy("n.is_multiple_of(2)")
    assert newer.returncode and "current MSRV" in newer.stderr, newer.stderr
