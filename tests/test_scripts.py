# SPDX-License-Identifier: GPL-2.0
"""The scripts for set-up, downloads and tidying. They get caches of their own, and an archive
that has what the test made. Needs no kernel and no network."""

import fcntl
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import TOP, Run, files

SECONDS = 15
TIER = "fast"

# apt, as far as scripts/fetch uses it: slow enough for another one to get in between
APT = """\
#!/bin/sh
case " $* " in
*" indextargets "*) echo http://archive.invalid/debian ;;
*" madison "*) cd "$ARCHIVE" && ls *.deb | sed 's/^\\(.*\\)_\\(.*\\)_.*/\\1 | \\2 | all/' ;;
*" update "*) sleep 0.4 ;;
*" download "*)
	for last; do :; done
	echo "$last" >>"$ARCHIVE/downloads"
	sleep 0.4
	cp "$ARCHIVE/${last%=*}"_*.deb . ;;
esac
"""


@pytest.fixture
def clone(tmp_path: Path, sh: Run) -> Path:
    """A copy of the scripts that fetches two packages of its own archive."""
    archive = tmp_path / "archive"
    lines = ""
    for what, name in (("kernel-7.3", "linux-source-7.3"), ("stock-kernel", "linux-image")):
        tree = tmp_path / name
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr/lib/modules").mkdir(parents=True)
        (tree / "usr/src").mkdir()
        control = f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n"
        (tree / "DEBIAN/control").write_text(control)
        (tmp_path / "linux").mkdir(exist_ok=True)
        sh("tar", "-C", tmp_path, "-cJf", tree / "usr/src/linux-source-7.3.tar.xz", "linux")
        archive.mkdir(exist_ok=True)
        sh("dpkg-deb", "-b", tree, archive)
        digest = sh("sha256sum", archive / f"{name}_1_all.deb").split()[0]
        lines += f"{what} trixie {name}_1_all.deb {digest}\n"
    scripts = tmp_path / "clone/scripts"
    shutil.copytree(TOP / "scripts", scripts)
    versions = (scripts / "versions.sh").read_text()
    versions = re.sub(r"(?s)\nDOWNLOADS='.*?\n'", f"\nDOWNLOADS='\n{lines}'", versions)
    (scripts / "versions.sh").write_text(versions)
    for name in ("apt-get", "apt-cache"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(APT)
        program.chmod(0o755)
    return scripts.parent


def environment(clone: Path) -> dict[str, str]:
    return os.environ | {
        "ARCHIVE": str(clone.parent / "archive"),
        "BLOG_CACHE": str(clone.parent / "cache"),
        "PATH": f"{clone.parent / 'bin'}:{os.environ['PATH']}",
    }


def start(clone: Path, *command: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(word) for word in command], cwd=clone, env=environment(clone), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


# --- fetch and its locks --------------------------------------------------------------


@pytest.mark.parametrize("other", ["kernel", "stock-kernel"])
def test_two_fetches_at_once(clone: Path, other: str) -> None:
    """Of the same thing, or of two: each is downloaded once."""
    both = [start(clone, "scripts/fetch", what) for what in ("kernel", other)]
    for process in both:
        out, err = process.communicate()
        assert not process.returncode, err
        assert Path(out.strip()).is_dir()
    downloads = (clone.parent / "archive/downloads").read_text().splitlines()
    assert len(downloads) == len({"kernel", other})


def test_a_failed_fetch_fails_and_leaves_nothing(clone: Path) -> None:
    package = next((clone.parent / "archive").glob("linux-source*"))
    package.write_bytes(package.read_bytes() + b"more")
    fetch = start(clone, "scripts/fetch", "kernel")
    _, err = fetch.communicate()
    assert fetch.returncode and "does not have the recorded sha256" in err
    cache = clone.parent / "cache"
    assert not list((cache / "src").glob("*")) and not list((cache / "debs").glob("*.deb"))


def test_a_lock_ends_with_its_script(clone: Path, sh: Run) -> None:
    """At once, although the sleep of a step's progress may outlive it."""
    script = ". scripts/lib.sh; lock build; step nap sleep 1.3"
    sh("bash", "-c", script, cwd=clone, env=environment(clone))
    with (clone.parent / "cache/locks/build").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Who waits for it says so.
        waiting = start(clone, "bash", "-c", ". scripts/lib.sh; lock build; echo mine")
        time.sleep(2)
        assert waiting.poll() is None
    out, err = waiting.communicate()
    assert out == "mine\n" and "waiting for another build" in err


# --- clean ----------------------------------------------------------------------------


def cache_names() -> set[str]:
    """What scripts and tests call their files and folders in the cache."""
    names: set[str] = set()
    for name in files("scripts", "tests/*.py"):
        text = (TOP / name).read_text()
        names.update(re.findall(r'\$BLOG_CACHE"?/([a-z][a-z.-]*)', text))
        names.update(re.findall(r'\b(?:CACHE|places\(\)\[2\]) / f?"([a-z.-]+)', text))
    return names


def test_clean_leaves_nothing_in_the_clone(clone: Path, sh: Run) -> None:
    made = ["build/x", "tools/blog-decode/target/CACHEDIR.TAG", "tests/__pycache__/x"]
    made += ["tests/host/proptest-regressions/x"]
    kept = ["scripts/mine", "tests/target/mine", "tools/blog-decode/src/x"]
    before = set(clone.rglob("*"))
    for name in made + kept:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).touch()
    cache = clone.parent / "cache"
    (cache / "tools").mkdir(parents=True)
    sh("scripts/clean", cwd=clone, env=environment(clone))
    left = {str(path.relative_to(clone)) for path in set(clone.rglob("*")) - before}
    assert {name for name in left if (clone / name).is_file()} == set(kept)
    assert (cache / "tools").is_dir()


@pytest.mark.parametrize("mine", [False, True])
def test_distclean_leaves_nothing_in_the_cache(clone: Path, sh: Run, mine: bool) -> None:
    """Except files of others."""
    names = cache_names()
    assert len(names) > 15 and {"tools", "crates-", "ui", "series"} <= names
    cache = clone.parent / "cache"
    for name in names:
        (cache / name / "x").mkdir(parents=True)
    if mine:
        (cache / "mine").touch()
    sh("scripts/clean", "--cache", cwd=clone, env=environment(clone))
    assert os.listdir(cache) == ["mine"] if mine else not cache.exists()
