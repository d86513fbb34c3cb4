# SPDX-License-Identifier: GPL-2.0
"""BLog goes into a kernel tree, comes out without a trace, and doesn't change a tree that it does
not fit; and as a series of commits and mails it is the same.

The trees here have only the files that patches touch, and some others.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from conftest import TOP, files

OURS = "Kconfig Kbuild blog include rust samples scripts patches Documentation tools/testing tools/blog"
VERSIONS = TOP / "scripts/lib/versions.sh"
POSTER = "A. Poster <poster@example.org>"


def run(
    *command: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, env=env, check=check, capture_output=True, text=True)


def state(folder: Path) -> dict[str, tuple[int, str]]:
    """All files of a folder: modes and hashes."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in folder.rglob("*")
    }


class Tree:
    """A kernel tree that scripts/integrate of `here` works on."""

    def __init__(self, here: Path, path: Path) -> None:
        self.here, self.path = here, path
        self.before = state(path)

    def integrate(self, *args: str) -> subprocess.CompletedProcess[str]:
        return run(self.here / "scripts/integrate", *args, self.path)

    def does(self, says: str, *args: str) -> None:
        done = self.integrate(*args)
        assert not done.returncode and says in done.stdout, done.stdout + done.stderr

    def refuses(self, says: str, *args: str) -> None:
        before = state(self.path)
        done = self.integrate(*args)
        assert done.returncode == 1 and says in done.stderr, done.stdout + done.stderr
        assert state(self.path) == before

    def edit(self, name: str, change: Callable[[str], str]) -> None:
        file = self.path / name
        file.write_text(change(file.read_text()))

    def untouched(self) -> bool:
        return state(self.path) == self.before


def copy_ours(to: Path) -> Path:
    """A copy of the files for a tree and of the scripts, so that nobody edits them meanwhile."""
    for name in OURS.split():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (TOP / name).is_dir() else shutil.copy2)(TOP / name, to / name)
    return to


@pytest.fixture(scope="module")
def here(work: Path) -> Path:
    return copy_ours(work / "here")


@pytest.fixture(scope="module")
def pristine() -> Path:
    said = run(TOP / "scripts/fetch", "kernel", check=True).stdout
    return Path(said.splitlines()[-1])


@pytest.fixture(scope="module")
def small(work: Path, here: Path, pristine: Path) -> Path:
    """The files of the kernel that patches touch, and some more."""
    patches = "".join(patch.read_text() for patch in here.glob("patches/*.patch"))
    names = re.findall(r"^\+\+\+ b/(\S+)", patches, re.MULTILINE)
    names += ["COPYING", "rust/kernel/lib.rs", "scripts/mod/modpost.c"]
    names += ["samples/rust/rust_print_main.rs"]
    for name in filter(lambda name: (pristine / name).exists(), names):
        (work / "small" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(pristine / name, work / "small" / name)
    return work / "small"


@pytest.fixture
def tree(here: Path, small: Path, tmp_path: Path) -> Tree:
    return Tree(here, shutil.copytree(small, tmp_path / "tree"))


@pytest.fixture
def with_blog(tree: Tree) -> Tree:
    tree.does("BLog is in")
    return tree


# --- in and out -------------------------------------------------------------------


def test_in_twice_and_out(tree: Tree) -> None:
    """A look changes nothing, and a second run writes nothing."""
    tree.does("BLog fits", "--check")
    assert tree.untouched()
    tree.does("BLog is in")
    ours, there = tree.here / "blog/sys/hook.c", tree.path / "kernel/blog/sys/hook.c"
    assert there.read_bytes() == ours.read_bytes()
    before = {path: path.stat().st_mtime_ns for path in tree.path.rglob("*.[chS]")}
    tree.does(", 0 written")
    assert before == {path: path.stat().st_mtime_ns for path in tree.path.rglob("*.[chS]")}
    tree.does("up to date", "--check")
    tree.does("BLog is out", "--revert")
    assert tree.untouched()
    tree.does("is not in", "--revert")


def test_an_older_one_is_brought_up_to_date(tree: Tree, tmp_path: Path) -> None:
    """With one file of other contents, one that there was not yet, and one that is gone."""
    older = copy_ours(tmp_path / "older")
    (older / "blog/sys/hook.c").write_text("// older\n")
    (older / "blog/sys/gone.c").write_text("// gone\n")
    (older / "blog/parts/marker/marker.h").unlink()
    Tree(older, tree.path).does("BLog is in")
    tree.does("an older BLog is in", "--check")
    tree.does(", 3 written")
    assert not (tree.path / "kernel/blog/sys/gone.c").exists()
    tree.does("BLog is out", "--revert")
    assert tree.untouched()


def test_what_others_have_changed_stays(with_blog: Tree) -> None:
    """Beside BLog's lines; in these lines, it is a reason to do nothing."""
    tree = with_blog
    tree.edit("kernel/Makefile", lambda text: text + "# mine\n")
    tree.does(", 0 written")
    tree.edit("kernel/blog/sys/hook.c", lambda text: text + "/* mine */\n")
    for args in ((), ("--revert",)):
        tree.refuses("kernel/blog/sys/hook.c", *args)
    tree.edit("kernel/blog/sys/hook.c", lambda text: text.replace("/* mine */\n", ""))
    tree.does("BLog is out", "--revert")
    assert (tree.path / "kernel/Makefile").read_text().endswith("# mine\n")


def test_what_does_not_fit_is_named(tree: Tree) -> None:
    """A hunk with its patch, a missing file, and a foreign one in the way."""
    scripts = "include/asm-generic/vmlinux.lds.h"
    was = (tree.path / scripts).read_text()
    tree.edit(scripts, lambda text: text.replace("TRACEPOINT_STR()\t", "OTHER_STR()\t"))
    tree.refuses(f"{scripts}: hunk #1")
    tree.refuses("patches/vmlinux-lds-blog.patch does not fit", "--check")
    tree.edit(scripts, lambda _: was)
    (tree.path / "kernel/blog").mkdir()
    (tree.path / "kernel/blog/Kconfig").write_text("foreign\n")
    tree.refuses("kernel/blog/Kconfig is in the tree already")
    shutil.rmtree(tree.path / "kernel/blog")
    (tree.path / "scripts/Makefile.modinst").unlink()
    tree.refuses("scripts/Makefile.modinst")


def test_an_optional_patch_is_left_out_with_its_file(tree: Tree) -> None:
    """The tree lacks a file that the patch changes. One that doesn't fit is no reason."""
    (tree.path / "drivers/android/binder/debug.rs").unlink()
    tree.before = state(tree.path)
    tree.does(" lacks a file that they change: rust-binder-blog.patch\nBLog is in")
    tree.does("BLog is out", "--revert")
    assert tree.untouched()
    tree.edit("drivers/block/rnull/rnull.rs", lambda text: text.replace("\n", "\n//\n"))
    tree.refuses("patches/rnull-blog.patch does not fit", "--check")


@pytest.mark.parametrize("series", re.findall("(?m)^kernel-([0-9.]+)", VERSIONS.read_text()))
def test_every_series_of_the_kernel_fits(here: Path, series: str) -> None:
    env = os.environ | {"KERNEL_SERIES": series}
    said = run(TOP / "scripts/fetch", "kernel", env=env, check=True).stdout
    done = run(here / "scripts/integrate", "--check", "--test", said.splitlines()[-1])
    assert not done.returncode, done.stdout + done.stderr


def test_a_folder_that_is_no_kernel_is_refused(here: Path, tmp_path: Path) -> None:
    Tree(here, tmp_path).refuses("is not a Linux source tree")


# --- what goes in -------------------------------------------------------------------


def table(here: Path, what: str = "tree_files") -> str:
    said = run("bash", "-euo", "pipefail", "-c", f". scripts/lib/lib.sh; {what}", cwd=here)
    assert not said.returncode, said.stderr
    return said.stdout


def test_every_file_is_in_a_commit() -> None:
    """Each file of these folders is in the table; once, by the nature of that."""
    listed = [line.split("\t")[1] for line in table(TOP).splitlines()]
    folders = [name for name in OURS.split() if name not in ("scripts", "patches")]
    folders += [
        "scripts/blog-fmt-sidetable",
        "patches/first.rst",
        ":!samples/blog",
        ":!samples/stock",
    ]
    ours = files(*folders)
    assert ours and sorted(listed) == sorted(ours)


def test_a_folder_that_is_gone_is_noticed(small: Path, tmp_path: Path) -> None:
    here = copy_ours(tmp_path / "here")
    shutil.rmtree(here / "samples/rust")
    Tree(here, shutil.copytree(small, tmp_path / "tree")).refuses("there is no samples/rust/")


def test_documents_build_no_kernel(tmp_path: Path) -> None:
    """A build's key depends on code, and neither on pages nor on messages of patches."""
    here = copy_ours(tmp_path / "here")

    def changed(name: str, change: Callable[[str], str]) -> bool:
        before, file = table(here, "tree_key"), here / name
        file.write_text(change(file.read_text()))
        return table(here, "tree_key") != before

    assert not changed("Documentation/blog/index.rst", lambda text: text + "More.\n")
    assert not changed("patches/rnull-blog.patch", lambda text: "Subject: other\n" + text)
    assert not changed("patches/cover/first", lambda text: text + "More.\n")
    assert changed("blog/sys/hook.c", lambda text: text + "\n")
    assert changed(
        "patches/rnull-blog.patch",
        lambda text: text.replace("+blog_component", "+blog_komponent", 1),
    )
    assert changed("patches/series", lambda text: text.replace(":kernel/blog/read/", ":kernel/"))


# --- the series -----------------------------------------------------------------------


class Repo:
    """A git of the small tree, with its own author, so that git's settings don't matter."""

    def __init__(self, here: Path, path: Path) -> None:
        self.here, self.path, self.mails = here, path, path.with_name("mails")
        nowhere = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        self.env = os.environ | nowhere
        self.git("init", "-q")
        self.git("add", "-Af")
        self.git(
            "-c", "user.name=Nobody", "-c", "user.email=n@example.org", "commit", "-qm", "Linux"
        )
        self.base = self.git("rev-parse", "HEAD")

    def git(self, *args: object) -> str:
        return run("git", "-C", self.path, *args, env=self.env, check=True).stdout.strip()

    def series(self) -> subprocess.CompletedProcess[str]:
        env = self.env | {"KSRC": str(self.path), "OUT": str(self.mails)}
        return run(self.here / "scripts/series", "all", env=env)


@pytest.fixture(scope="module")
def repo(here: Path, small: Path, tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """With the branch and its mails, once somebody has a name."""
    repo = Repo(here, shutil.copytree(small, tmp_path_factory.mktemp("series") / "git"))
    refused = repo.series()
    assert refused.returncode and "user.name" in refused.stderr, refused.stderr
    repo.git("config", "user.name", "A. Poster")
    repo.git("config", "user.email", "poster@example.org")
    made = repo.series()
    assert not made.returncode, made.stderr
    return repo


def test_the_series_is_a_branch_beside_what_is_checked_out(repo: Repo) -> None:
    assert not repo.git("status", "--porcelain")
    assert repo.git("rev-parse", "HEAD") == repo.base
    again = repo.series()
    assert again.returncode and "blog" in again.stderr


def test_the_last_tree_is_what_integrate_makes(repo: Repo, with_blog: Tree, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "--detach", tmp_path / "branch", "blog")
    branch = tmp_path / "branch"
    (branch / ".git").unlink()
    repo.git("worktree", "prune")
    (with_blog.path / ".blog.patch").unlink()
    done = run("diff", "-r", branch, with_blog.path)
    assert not done.returncode, done.stdout


def test_nothing_is_signed_off_and_no_name_is_made_up(repo: Repo) -> None:
    """The person signs off who posts it."""
    authors = repo.git("log", "--format=%an <%ae>", f"{repo.base}..blog")
    assert set(authors.splitlines()) == {POSTER}
    mails = repo.git("format-patch", "--stdout", f"{repo.base}..blog")
    wrong = r"^(?:From|[a-z-]+-by):.*(?:localhost|blog).*|.*BLog developers.*|^Signed-off-by:.*"
    assert not re.findall(wrong, mails, re.MULTILINE | re.IGNORECASE)


def test_each_mail_applies_and_all_make_the_branch(repo: Repo) -> None:
    mails = sorted(repo.mails.glob("*.patch"))[1:]
    assert len(mails) == int(repo.git("rev-list", "--count", f"{repo.base}..blog"))
    repo.git("checkout", "-q", "-b", "mails")
    repo.git("am", "-q", *mails)
    trees = repo.git("rev-parse", "mails^{tree}", "blog^{tree}").split()
    repo.git("checkout", "-q", "--detach", repo.base)
    assert trees[0] == trees[1]


def test_the_cover_letter_has_the_words_of_pages(repo: Repo) -> None:
    """And the numbers that scripts/bench has put into it (the suite "bench" compares them)."""
    cover = (repo.mails / "0000-cover-letter.patch").read_text()
    assert not re.search("^@", cover, re.MULTILINE)
    assert re.search(r"^  blog_log!, task +[0-9.]+ +[0-9.]+", cover, re.MULTILINE)
    assert "A component takes all of its" in cover


# --- headers for captured drivers -------------------------------------------------------


def capture(here: Path, headers: Path, out: Path, **env: str) -> str:
    """What it says; it never fails, or BLog's build would."""
    patch = out.with_suffix(".patch")
    patch.write_text(table(here, "header_patch | awk '/^diff / { on = !/blog.h$/ } on'"))
    script = TOP / "packaging/anykernel/capture.sh"
    return run("/bin/sh", script, patch, headers, out, env=os.environ | env, check=True).stdout


def test_headers_are_changed_as_in_a_tree(
    here: Path, small: Path, with_blog: Tree, tmp_path: Path
) -> None:
    """But for one that doesn't fit, and is named; without the first of them, none is."""
    out, orig = tmp_path / "capture", shutil.copytree(small, tmp_path / "orig")
    assert not capture(here, orig, out)
    changed = [path for path in out.rglob("*.h") if path.is_file()]
    assert len(changed) == 7
    for path in changed:
        assert path.read_text() == (with_blog.path / "include" / path.relative_to(out)).read_text()

    printk = orig / "include/linux/printk.h"
    printk.write_text(
        re.sub(r"defined\(DEBUG\)(?=\n#define pr_debug_once)", "0", printk.read_text())
    )
    assert re.fullmatch(
        r"  linux/printk\.h: 1 of 2 changes don't fit .*\n", capture(here, orig, out)
    )
    assert "blog_capture_limited" in (out / "linux/printk.h").read_text()

    (orig / "include/linux/dynamic_debug.h").write_text("/* another one */\n")
    assert "nothing can be captured: this kernel's" in capture(here, orig, out)
    assert list(out.iterdir()) == []
    bare = tmp_path / "bin"
    bare.mkdir()
    for program in ("sed", "rm", "mkdir", "cp", "dirname"):
        (bare / program).symlink_to(shutil.which(program) or "")
    assert "apt install patch" in capture(here, orig, out, PATH=str(bare))
