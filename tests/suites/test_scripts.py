# SPDX-License-Identifier: GPL-2.0
"""The scripts for set-up, downloads and tidying. They get caches of their own, and an archive
that has what the test made. Needs no kernel and no network."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run, files

SETUP = "pytest"
# apt, as far as scripts/fetch uses it: slow enough for another one to get in between
APT = """\
#!/bin/sh
case " $* " in
*" indextargets "*) echo http://archive.invalid/debian ;;
*" pkgnames "*) cd "$ARCHIVE" && ls *.deb | sed 's/_.*//' ;;
*" madison "*) cd "$ARCHIVE" && ls *.deb | sed 's/^\\(.*\\)_\\(.*\\)_.*/\\1 | \\2 | all/' ;;
*" update "*) sleep 0.4 ;;
*" download "*)
	sleep 0.4
	for word; do
		case $word in [a-z]*=*) ;; *) continue ;; esac
		echo "$word" >>"$ARCHIVE/downloads"
		cp "$ARCHIVE/${word%=*}"_*.deb .
	done ;;
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
        sh("tar", "-C", tmp_path, "-cf", tree / "usr/src/linux-source-7.3.tar.xz", "linux")
        archive.mkdir(exist_ok=True)
        sh("dpkg-deb", "-b", tree, archive)
        digest = sh("sha256sum", archive / f"{name}_1_all.deb").split()[0]
        lines += f"{what} trixie {name}_1_all.deb {digest}\n"
    scripts = tmp_path / "clone/scripts"
    shutil.copytree(TOP / "scripts", scripts)
    versions = (scripts / "lib/versions.sh").read_text()
    versions = re.sub(r"(?s)\nDOWNLOADS='.*?\n'", f"\nDOWNLOADS='\n{lines}'", versions)
    (scripts / "lib/versions.sh").write_text(versions)
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


def test_a_kernel_that_is_gone(clone: Path, sh: Run) -> None:
    """The newest one of that series and kind is taken in its place, and says so."""
    lines = ""
    for kind in ("image", "headers"):
        for release in ("6.1.0-51-amd64", "6.1.0-51-cloud-amd64", "6.1.0-49-amd64", "6.12.9-amd64"):
            name = f"linux-{kind}-{release}"
            tree = clone.parent / name
            for folder in ("DEBIAN", "boot", f"usr/src/linux-headers-{release}"):
                (tree / folder).mkdir(parents=True)
            (tree / f"boot/vmlinuz-{release}").write_text(release)
            control = f"Package: {name}\nVersion: 6.1\nArchitecture: all\n"
            (tree / "DEBIAN/control").write_text(f"{control}Maintainer: x\nDescription: x\n")
            sh("dpkg-deb", "-b", tree, clone.parent / "archive")
        lines += f"stock-6.1 trixie linux-{kind}-6.1.0-50-amd64_6.0_all.deb {'0' * 64}\n"
    versions = clone / "scripts/lib/versions.sh"
    versions.write_text(versions.read_text().replace("DOWNLOADS='\n", f"DOWNLOADS='\n{lines}"))
    for _ in range(2):  # The second time, it is in the cache.
        out, err = start(clone, "scripts/fetch", "stock-6.1").communicate()
        where = Path(out.strip())
        assert (where / "vmlinuz").read_text() == "6.1.0-51-amd64", err
        assert (where / "lib/modules/6.1.0-51-amd64").is_dir()
    log = (clone.parent / "cache/logs/Download-stock-6.1.log").read_text()
    assert "taking linux-image-6.1.0-51-amd64=6.1, not linux-image-6.1.0-50-amd64" in log
    assert len((clone.parent / "archive/downloads").read_text().split()) == 2


def test_a_lock_ends_with_its_script(clone: Path, sh: Run) -> None:
    """At once, although the sleep of a step's progress may outlive it."""
    script = ". scripts/lib/lib.sh; lock build; step nap sleep 1.3"
    sh("bash", "-c", script, cwd=clone, env=environment(clone))
    with (clone.parent / "cache/locks/build").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Who waits for it says so.
        waiting = start(clone, "bash", "-c", ". scripts/lib/lib.sh; lock build; echo mine")
        assert waiting.stderr and "waiting for another build" in waiting.stderr.readline()
        assert waiting.poll() is None
    assert waiting.communicate()[0] == "mine\n"


# --- folders of others ----------------------------------------------------------------


@pytest.mark.parametrize("program", ["series", "stock-tree"])
def test_folders_of_others_stay(tmp_path: Path, sh: Run, program: str) -> None:
    names = ("0001-mail.patch", "include.patch", "letter")
    for name in names:
        (tmp_path / name).write_text("--- a/letter\n+++ b/letter\n")
    words = [TOP / "scripts" / program, *([tmp_path] if program == "stock-tree" else [])]
    said = sh(*words, env=os.environ | {"OUT": str(tmp_path)}, status=[1])
    assert f"{tmp_path} has other files" in said
    assert sorted(os.listdir(tmp_path)) == sorted(names)


# --- metadata of a stock kernel -------------------------------------------------------


@pytest.fixture
def stock(tmp_path: Path, sh: Run) -> Path:
    """A folder with a kernel's headers and source, as far as they are looked at, and programs."""
    headers, source = tmp_path / "headers", tmp_path / "linux"
    (headers / "include/config").mkdir(parents=True)
    (headers / "include/config/kernel.release").write_text("7.3.4-test\n")
    (headers / "Module.symvers").touch()
    options = ("RUST", "X86_64", "DEBUG_FS", "KALLSYMS", "TRACEPOINTS", "MODULES", "ZLIB_DEFLATE")
    config = "".join(f"CONFIG_{option}=y\n" for option in options)
    (headers / ".config").write_text(config + 'CONFIG_RUSTC_VERSION_TEXT="rustc 1.0.0"\n')
    (source / "rust/kernel").mkdir(parents=True)
    (source / "rust/kernel/lib.rs").touch()
    # In the middle of its work, it fails, or waits for a signal.
    (source / "Makefile").write_text("kernelversion:\n\t@echo 7.3.4\nolddefconfig:\n\t@$(FAILS)\n")
    sh("tar", "-C", tmp_path, "-cf", tmp_path / "linux.tar.xz", "linux")
    tree = tmp_path / "tree"
    tree.mkdir()
    shutil.copy(TOP / "packaging/stock/metadata", tree)
    (tree / "include.patch").touch()
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "rustc").write_text("#!/bin/sh\necho rustc 1.0.0\n")
    (bin / "rustc").chmod(0o755)
    return tmp_path


def metadata(
    stock: Path, out: Path, fails: str = "false", source: str = "linux.tar.xz"
) -> subprocess.Popen[str]:
    paths = {"headers": stock / "headers", "source": stock / source, "out": out}
    words = [str(word) for name, path in paths.items() for word in (f"--{name}", path)]
    return subprocess.Popen(
        [stock / "tree/metadata", *words], text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        env=os.environ | {"PATH": f"{stock / 'bin'}:{os.environ['PATH']}", "FAILS": fails})  # fmt: skip


@pytest.mark.parametrize("signal_", [None, signal.SIGTERM, signal.SIGINT])
def test_metadata_that_fail_leave_nothing(stock: Path, signal_: int | None) -> None:
    """Also nothing of an earlier kernel of that name, or of a machine that went down."""
    out, begun = stock / "var/blog", stock / "begun"
    for old in (None, "", "unfinished\n", f"7.3.3 {'0' * 64}  - and more\n"):
        if old is not None:
            (out / "build").mkdir(parents=True)
            (out / "stamp").write_text(old)
        process = metadata(stock, out, f"touch {begun}; sleep 20" if signal_ else "false")
        if signal_:
            while not begun.exists():
                assert process.poll() is None
                time.sleep(0.02)
            begun.unlink()
            os.killpg(process.pid, signal_)
        said, _ = process.communicate(timeout=30)
        assert process.returncode, said
        assert not out.exists(), (old, said)


def test_metadata_need_room_on_the_disk(stock: Path) -> None:
    out = stock / "var/blog"
    (stock / "bin/stat").write_text(
        '#!/bin/sh\n[ "$1" != -f ] || { echo 1200 1048576; exit; }\nexec /usr/bin/stat "$@"\n'
    )
    (stock / "bin/stat").chmod(0o755)
    said, _ = metadata(stock, out).communicate()
    assert "1200 MiB are free" in said and "2500 are needed" in said, said
    assert not out.exists()
    # A source that is unpacked already takes less.
    said, _ = metadata(stock, out, source="linux").communicate()
    assert "are free" not in said, said


@pytest.mark.parametrize("stamp", ["", "unfinished\n", "of the post office\n"])
def test_metadata_leave_folders_of_others(stock: Path, stamp: str) -> None:
    other = stock / "other"
    other.mkdir()
    (other / "letter").touch()
    (other / "stamp").write_text(stamp)
    if stamp.startswith("of"):
        (other / "build").mkdir()
    for words in ([], ["--remove"]):
        process = metadata(stock, other) if not words else subprocess.Popen(
            [stock / "tree/metadata", "--remove", "--out", other], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        said, _ = process.communicate()
        assert process.returncode == 1 and "has other files" in said, said
    assert (other / "letter").exists()


# --- set-up ---------------------------------------------------------------------------


def test_suites_that_need_only_pytest_install_nothing_else(sh: Run) -> None:
    names = [
        name
        for name in files("tests/suites/test_*.py")
        if 'SETUP = "pytest"' in (TOP / name).read_text()
    ]
    suites = [Path(name).stem.removeprefix("test_") for name in names]
    assert "checks" in suites
    some = sh(TOP / "scripts/setup", "--list", "--tests", *suites).split()
    assert set(some) == {"git", "make", "python3", "python3-venv"}
    assert "gcc" in sh(TOP / "scripts/setup", "--list", "--tests", *suites, "host").split()


# --- which kernels a run builds ---------------------------------------------------------

BUILD = """\
#!/bin/sh
echo "$@" >>"$ARCHIVE/built"
echo "a kernel is built"
[ "$1" != uml ]
"""
SUITE = """\
import pytest, vm

def test_plain() -> None:
    pass

@pytest.mark.kernels("uml")
def test_of_a_kernel_that_cannot_be_built() -> None:
    vm.kernel("uml")

@pytest.mark.kernels("stock")
def test_of_another_kernel() -> None:
    vm.kernel("uml")

@pytest.mark.kernels("x86")
def test_of_the_night() -> None:
    pass
"""


RUNNER = ("conftest.py", "plan.py", "seconds", "tiers.toml", "vm.py")


@pytest.fixture
def suites(clone: Path) -> Path:
    """A clone with a suite of its own, whose kernels are built by a script that notes them."""
    (clone / "tests/suites").mkdir(parents=True)
    for name in ("pyproject.toml", *(f"tests/{name}" for name in RUNNER)):
        shutil.copy(TOP / name, clone / name)
    (clone / "tests/suites/test_own.py").write_text(SUITE)
    (clone / "scripts/build-kernel").write_text(BUILD)
    (clone.parent / "archive/built").touch()
    return clone


def run_suites(clone: Path, *options: str) -> tuple[str, list[str]]:
    """What pytest prints, as scripts/test starts it, and the kernels that were built."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", *options], cwd=clone, env=environment(clone),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
    return done.stdout, (clone.parent / "archive/built").read_text().splitlines()


def test_only_the_kernels_of_the_tests_that_run_are_built(suites: Path) -> None:
    said, built = run_suites(suites, "-k", "plain")
    assert not built and said.endswith("1 passed, 0 failed, 0 skipped\n"), said
    said, built = run_suites(suites, "-k", "of_another")
    assert built == ["stock"] and "no mark kernels('uml')" in said, said


def test_without_a_kernel_its_tests_fail_and_others_run(suites: Path) -> None:
    said, built = run_suites(suites)
    assert built == ["stock", "uml"]  # each once, though two processes ask for it
    assert "a kernel is built" in said and "no kernel uml: it could not be built" in said, said
    stages = re.findall(r"^(\w.*?) +\d+ +\d+ +[\d.]+$", said, re.MULTILINE)
    assert stages == ["kernel stock", "kernel uml", "suites"], said
    assert said.endswith("1 passed, 2 failed, 0 skipped\n"), said
    # While it runs, each failure is named, and each suite that has ended.
    begin = said.partition("= FAILURES =")[0]
    assert "FAILED own::test_of_another_kernel: LookupError: this test has no mark" in begin, said
    assert re.search(r"^own +\d+\.\d s  2 failed, 1 passed$", begin, re.MULTILINE), said


def test_the_list_has_what_would_run_and_why_at_night(suites: Path) -> None:
    said, built = run_suites(suites, "-n", "0", "--list")
    assert re.findall(r"^full .*::(\w+)$", said, re.MULTILINE) == [
        "test_plain", "test_of_a_kernel_that_cannot_be_built", "test_of_another_kernel"]  # fmt: skip
    own = "tests/suites/test_own.py"
    said, built = run_suites(suites, "-n", "0", "--tier", "deep", "--list", own)
    assert re.search(r"^deep .* own::test_of_the_night  12 minutes to build", said, re.MULTILINE)
    assert "4 tests, " in said and not built, said


def test_a_line_of_the_night_without_a_test_is_an_error(suites: Path) -> None:
    said, _ = run_suites(suites, "-n", "0", "--tier", "deep", "--list")
    assert re.search(r"tests/tiers.toml names what is no test: .*\banykernel\b", said), said


def test_a_command_without_an_end_is_ended(sh: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that it has started, and with what it has printed."""
    monkeypatch.setattr(vm, "patience", 0.5)
    with pytest.raises(AssertionError, match=r"(?s)sleep 61.*: no end in 0 s.*waits"):
        sh("sh", "-c", "echo waits; sleep 61 & wait")


def test_a_program_ends_with_its_reader() -> None:
    with pytest.raises(KeyError), vm.reading(["sleep", "62"]) as running:
        raise KeyError
    assert running.poll()


# --- what a run prints ------------------------------------------------------------------


def test_a_first_run_names_its_needs_before_it_starts(clone: Path) -> None:
    df = clone.parent / "bin/df"
    df.write_text("#!/bin/sh\necho Avail; echo 1G\n")
    df.chmod(0o755)
    out, err = start(clone, "scripts/setup", "--stock").communicate()
    assert re.search(r"first run needs root, \d+ GB of disk, and about \d+ minutes", out), err
    assert "may be too little: BLOG_CACHE=DIR names another folder" in err
    stages = (clone.parent / "cache/logs/stages").read_text()
    assert re.fullmatch(r"set-up\t\d+\t\d+\t[\d.]+\n", stages), stages


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


# --- a release ----------------------------------------------------------------------


def test_release_says_what_is_missing(tmp_path: Path, sh: Run) -> None:
    """First all of it, then less and less, until it is ready."""
    here = tmp_path / "blog"
    shutil.copytree(TOP / "scripts", here / "scripts")

    def write(name: str, text: str) -> None:
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)

    def git(*words: str) -> None:
        sh("git", "-C", here, "-c", "user.name=One", "-c", "user.email=one@host", *words)

    def missing() -> list[str]:
        said = sh(here / "scripts/release", status=[0, 1])
        assert ("ready: git tag -s v9.8.7" in said) == ("missing: " not in said)
        return re.findall("^missing: (?:a |one )?(\\w+)", said, re.MULTILINE)

    def results(tests: int, failures: int) -> None:
        suite = f'<testsuite tests="{tests}" failures="{failures}" errors="0"/>'
        write("build/test.xml", f"<testsuites>{suite}</testsuites>")

    write("tools/blog-decode/Cargo.toml", 'version = "9.8.7"\n')
    write("CHANGELOG.md", "## 9.8.6 (2026-11-26)\n")
    write("packaging/maintainer", "BLog developers <blog@localhost>\n")
    write(".gitignore", "build\n")
    write("scripts/test", "#!/bin/sh\nexec grep -q 9.8.7 README.md\n")
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "empty")
    git("tag", "v9.8.7")
    results(tests=1000, failures=1)
    all_of_it = ["clean", "heading", "version", "version", "maintainer", "results"]
    assert missing() == all_of_it
    git("tag", "-d", "v9.8.7")
    write("README.md", "9.8.7")
    assert missing() == ["clean", "heading", "maintainer", "results"]
    write("CHANGELOG.md", "## 9.8.7 (2026-11-30)\n## 9.8.6 (2026-11-26)\n")
    write("packaging/maintainer", "One <one@host.net>\n")
    git("add", "-A")
    git("commit", "-q", "-m", "all of it")
    assert missing() == ["results"]
    results(tests=10, failures=0)
    assert missing() == ["results"]
    results(tests=1000, failures=0)
    assert not missing()
