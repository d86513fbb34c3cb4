# SPDX-License-Identifier: GPL-2.0
"""The files that users install.

"make install" installs programs below PREFIX, "make install-system" what the system runs, and
"make uninstall" removes all of it. Two builds of the Debian package are equal. It installs in a
clean Debian 13 without a network, works there, and leaves nothing. The plugin for sos works in sos.
The source package is whole; in the deep tier, it makes the same packages, and lintian and rpmlint
check them all. Needs root; that Debian is made once, in 40 s.
"""

import gzip
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
import vm
from conftest import CACHE, TOP, Run, offline

GOLDEN = TOP / "tools/blog-decode/tests/golden/expected"


@pytest.fixture(scope="module")
def deb(work: Path, sh: Run) -> Path:
    return Path(sh(TOP / "scripts/package-deb", work / "one").splitlines()[-1])


def test_each_crate_is_a_package(work: Path, sh: Run) -> None:
    decoder = TOP / "tools/blog-decode"
    manifests = [
        TOP / "tools/blog-ctl/Cargo.toml",
        *(decoder / f"{name}Cargo.toml" for name in ("", "kdumpfile/", "map/")),
        *decoder.glob("crates/*/Cargo.toml"),
    ]
    names = [re.findall(r'^name = "(.*)"', m.read_text(), re.MULTILINE)[0] for m in manifests]
    sh(
        "cargo", "package", "-q", "--no-verify", "--offline", "--locked", "--allow-dirty",
        "--target-dir", work, *(f"-p{name}" for name in names), cwd=TOP)  # fmt: skip
    assert len(list(work.glob("package/*.crate"))) == len(names) > 10


def test_make_install(work: Path, sh: Run) -> None:
    to = work / "dest"
    (to / "opt/other").mkdir(parents=True)
    sh("make", "-C", TOP, "install", f"DESTDIR={to}", "PREFIX=/opt/blog")
    sh(to / "opt/blog/bin/blog-decode", "--version")
    sh(to / "opt/blog/bin/blog-fmt-sidetable", "--inventory", GOLDEN / "golden_mod.blogfmt")
    for program in ("blog-decode", "blog-ctl", "blog-fmt-sidetable"):
        assert (to / f"opt/blog/share/man/man1/{program}.1").stat().st_size
    # All is below PREFIX, and nothing of it runs by itself.
    assert os.listdir(to) == ["opt"] and sorted(os.listdir(to / "opt")) == ["blog", "other"]
    assert sorted(os.listdir(to / "opt/blog")) == ["bin", "share"]
    assert not list(to.rglob("*.service*")) and not list(to.rglob("sos"))


def test_make_install_system(work: Path, sh: Run) -> None:
    to = work / "system"
    sh("make", "-C", TOP, "install-system", f"DESTDIR={to}", "PREFIX=/opt/blog")
    assert sorted(os.listdir(to / "opt/blog")) == ["lib", "share"]
    units = to / "opt/blog/lib/systemd/system"
    for unit in ("blog-previous.service", "kdump-tools-dump.service.d/blog.conf"):
        (program,) = re.findall(r"^Exec\w+=-?(\S+)", (units / unit).read_text(), re.MULTILINE)
        assert os.access(f"{to}{program}", os.X_OK), program
    sh("make", "-C", TOP, "install", f"DESTDIR={to}", "PREFIX=/opt/blog")


def test_what_is_no_file_is_not_replaced(work: Path, sh: Run) -> None:
    to = work / "linked"
    link = to / "usr/local/bin/blog-fmt-sidetable"
    link.parent.mkdir(parents=True)
    link.symlink_to("/home/me/blog-fmt-sidetable")
    said = sh(TOP / "scripts/install", env=os.environ | {"DESTDIR": str(to)}, status=[1])
    assert f"{link} is there already" in said
    assert link.is_symlink() and os.listdir(link.parent) == [link.name]


@pytest.mark.parametrize("root", ["dest", "system"])
def test_make_uninstall_leaves_no_file(work: Path, sh: Run, root: str) -> None:
    sh("make", "-C", TOP, "uninstall", f"DESTDIR={work}/{root}", "PREFIX=/opt/blog")
    assert not [path for path in (work / root).rglob("*") if not path.is_dir()]


def test_units_name_pages_that_their_package_has(deb: Path, work: Path, sh: Run) -> None:
    pages = 0
    for package in deb.parent.glob("*.deb"):
        root = work / "units" / package.name
        root.mkdir(parents=True)
        sh("dpkg-deb", "-x", package, root)
        for unit in (root / "usr/lib/systemd/system").glob("*.service"):
            for page in re.findall(r"^Documentation=(.+)$", unit.read_text(), re.MULTILINE):
                manual = re.sub(r"^man:(.+)\((\d)\)$", r"/usr/share/man/man\2/\1.\2.gz", page)
                path = manual.removeprefix("file:")
                assert (root / path.removeprefix("/")).is_file(), f"{unit.name}: {page}"
                pages += 1
    assert pages == 2


def test_the_man_page_of_blog_fmt_sidetable_has_all_options(decoder: Path, sh: Run) -> None:
    said = sh(decoder.parent / "blog-fmt-sidetable", "--help")
    options = set(re.findall(r"^ +(-[a-z]\b|--[-a-z]+)", said, re.MULTILINE))
    options |= set(re.findall(r"^ +-[a-z], (--[-a-z]+)", said, re.MULTILINE))
    page = (TOP / "packaging/man/blog-fmt-sidetable.1").read_text().replace("\\-", "-")
    assert len(options) >= 7
    assert not [option for option in options if not re.search(rf"{option}\b", page)]


def test_the_package_has_the_same_bytes_when_built_again(deb: Path, work: Path, sh: Run) -> None:
    # In another second, as the first is over, with another umask and time zone
    env = os.environ | {"TZ": "Asia/Kolkata"}
    sh(TOP / "scripts/package-deb", work / "two", umask=0o077, env=env)
    for one in deb.parent.iterdir():
        assert (work / "two" / one.name).read_bytes() == one.read_bytes()


def test_no_path_of_this_machine_is_in_it(deb: Path, work: Path, sh: Run) -> None:
    sh("dpkg-deb", "-x", deb, work / "x")
    cargo = os.environ.get("CARGO_HOME", f"{Path.home()}/.cargo")
    paths = [str(path).encode() for path in (TOP, Path.home(), CACHE, cargo)]
    form = re.compile(b"(?:" + b"|".join(map(re.escape, paths)) + rb")/[ -~]{0,60}")
    for file in (work / "x").rglob("*"):
        if file.is_file():
            assert not form.findall(file.read_bytes()), file


# --- the last boot's log ------------------------------------------------------------


def previous(sh: Run, folder: Path, snapshot: Path, date: str = "", **limits: str) -> list[str]:
    """Saves a log, by a clock that shows this. The answer is what the folder has then."""
    bin = folder.parent / "bin"
    bin.mkdir(exist_ok=True)
    (bin / "date").write_text(
        f"#!/bin/sh\necho {date}\n" if date else '#!/bin/sh\n/bin/date "$@"\n'
    )
    (bin / "date").chmod(0o755)
    env = os.environ | limits | {"PATH": f"{bin}:{os.environ['PATH']}"}
    sh(TOP / "packaging/previous", folder, folder / "none", snapshot, env=env)
    return sorted(path.name for path in folder.iterdir())


def log_of(size: int) -> bytes:
    return b"BLOGKEPT" + b"new" * (size // 3)


def test_the_newest_logs_of_last_boots_are_kept(tmp_path: Path, sh: Run) -> None:
    folder, snapshot = tmp_path / "previous", tmp_path / "snapshot"
    folder.mkdir()
    snapshot.write_bytes(log_of(300_000))
    # By an earlier version; and what others have put there.
    names = [f"2020-01-0{day}T10:00:00Z.blog" for day in range(1, 7)]
    for name in names:
        (folder / name).write_bytes(log_of(100_000))
    others = ["000000-notes-Z.blog", "2019-01-01Z.blog", "link-Z.blog", "other"]
    (folder / others[0]).mkdir()
    (folder / others[1]).write_text("a text of the administrator")
    (folder / others[2]).symlink_to(names[0])
    (folder / others[3]).touch()

    def save(**limits: str) -> list[str]:
        left = previous(sh, folder, snapshot, **limits)
        (new,) = (path for path in folder.glob("000001-2*Z.blog"))
        assert new.read_bytes() == snapshot.read_bytes() and new.stat().st_mode & 0o777 == 0o600
        new.unlink()
        assert not set(others) - set(left)
        return [name for name in left if name not in (*others, new.name)]

    assert save() == names
    assert save(KEEP="5") == names[2:]
    assert save(MIB="1", KEEP="9") == names[2:]
    snapshot.write_bytes(log_of(900_000))
    assert save(MIB="1") == names[-1:]
    snapshot.write_bytes(log_of(1_200_000))
    assert save(MIB="1") == []


def test_the_newest_logs_are_those_that_came_last(tmp_path: Path, sh: Run) -> None:
    """Whatever the clock shows, which begins in 1970 on a machine without a battery."""
    folder, snapshot = tmp_path / "previous", tmp_path / "snapshot"
    dates = [f"2026-11-{day:02}T00:00:00Z" for day in range(1, 11)] + ["1970-01-01T00:00:12Z"] * 2
    for n, date in enumerate(dates):
        snapshot.write_text(f"BLOGKEPT crash {n}")
        left = previous(sh, folder, snapshot, date, KEEP="4")
    assert [(folder / name).read_text() for name in left] == [
        f"BLOGKEPT crash {n}" for n in range(8, 12)
    ]


def test_the_last_boots_log_is_saved_by_the_decoder(tmp_path: Path, sh: Run) -> None:
    """With its side tables. If that fails, the log is saved as it is."""
    folder, snapshot = tmp_path / "previous", tmp_path / "snapshot"
    snapshot.write_bytes(log_of(300))
    packed = gzip.compress(b"BLOGSNAP and tables")
    (tmp_path / "packed").write_bytes(packed)
    program = tmp_path / "bin/blog-decode"
    program.parent.mkdir()
    for status, kept in ((0, packed), (1, packed), (2, snapshot.read_bytes())):
        program.write_text(
            f'#!/bin/sh\n[ "$1 $2 $3 $4" = "save {snapshot} -o -" ] || exit 3\n'
            f"cat {tmp_path}/packed\nexit {status}\n"
        )
        program.chmod(0o755)
        newest = folder / previous(sh, folder, snapshot)[-1]
        assert newest.read_bytes() == kept
    # What is packed counts for the limits, too.
    assert len(previous(sh, folder, snapshot, KEEP="2")) == 2


def test_a_limit_that_is_no_number_removes_no_log(tmp_path: Path, sh: Run) -> None:
    folder, snapshot = tmp_path / "previous", tmp_path / "snapshot"
    snapshot.write_bytes(log_of(300))
    previous(sh, folder, snapshot)
    for count, limits in enumerate(({"KEEP": "ten"}, {"MIB": "1G"}, {"KEEP": "-1"}), 2):
        env = os.environ | limits
        sh(TOP / "packaging/previous", folder, snapshot, env=env, status=[1])
        assert len(list(folder.iterdir())) == count


def test_the_last_boots_memory_is_freed_once_its_log_is_saved(tmp_path: Path, sh: Run) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    kept.mkdir()
    (kept / "clear").touch()

    def save(status: int) -> str:
        sh(TOP / "packaging/previous", folder, kept / "snapshot", status=[status])
        return (kept / "clear").read_text()

    # It can't be read, has no room, or isn't what it should be: the memory has the only copy.
    (kept / "snapshot").mkdir()
    assert save(1) == "" and not list(folder.iterdir())
    (kept / "snapshot").rmdir()
    (kept / "snapshot").write_text("something else")
    assert save(0) == ""
    (kept / "snapshot").write_text("BLOGKEPT and more")
    (tmp_path / "file").touch()
    sh(TOP / "packaging/previous", tmp_path / "file", kept / "snapshot", status=[1])
    assert (kept / "clear").read_text() == ""
    assert save(0) == "1\n"
    # What was being saved when the machine went down is a log, too.
    (folder / ".part.abcdef").write_text("BLOGKEPT, half")
    assert save(0) == "1\n"
    texts = [path.read_text() for path in sorted(folder.iterdir())]
    assert texts[2:] == ["BLOGKEPT, half", "BLOGKEPT and more"], texts


def test_two_crashes_of_a_minute_have_two_logs(tmp_path: Path, sh: Run) -> None:
    """In the folder of kdump-tools, whose name is the minute."""
    bin = tmp_path / "bin"
    bin.mkdir()
    for name, text in (("date", "echo 197001010000"), ("blog-decode", 'echo "$3" >"$5"')):
        (bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin / name).chmod(0o755)
    folder = tmp_path / "197001010000"
    folder.mkdir()
    for n in range(2):
        sh(TOP / "packaging/kdump", "true", f"{n}/vmcore", folder / "dump",
           env=os.environ | {"PATH": f"{bin}:{os.environ['PATH']}"})  # fmt: skip
    saved = {path.name: path.read_text() for path in folder.iterdir()}
    assert saved == {"blog": "0/vmcore\n", "blog-2": "1/vmcore\n"}


# --- sos ----------------------------------------------------------------------------

SOS = """
import sys, sos, sos.policies
sos.policies.load(sysroot=sys.argv[1])  # its own option doesn't reach plugins
sos.SoS(sys.argv[2:]).execute()
"""


def test_sos_collects_what_is_saved(work: Path, sh: Run) -> None:
    if os.getuid():
        pytest.skip("not root")
    modules, root, out = work / "modules", work / "sysroot", work / "report"
    shutil.copytree(vm.fetch("sos") / "usr/lib/python3/dist-packages", modules)
    shutil.copy(TOP / "packaging/sos/blog.py", modules / "sos/report/plugins")
    blog, programs = root / "sys/kernel/tracing/blog", root / "usr/bin"
    for path in (blog / "disk", blog / "net", programs, out):
        path.mkdir(parents=True)
    collected = {"stats", "control"}
    for name in (*collected, "snapshot", "stream", "net/stream", "net/snapshot"):
        (blog / name).write_text(name)
    shutil.copy(vm.fetch("busybox-static") / "usr/bin/busybox", programs)
    for program in ("head", "ls", "sh", "timeout"):
        (programs / program).symlink_to("busybox")
    # In place of the decoder, which isn't static: 3 MiB, and its arguments in front
    (programs / "blog-decode").write_text('#!/usr/bin/sh\necho "$@"; head -c 3145728 /dev/zero\n')
    (programs / "blog-decode").chmod(0o755)
    (root / "dev").mkdir()
    (root / "dev/zero").write_bytes(bytes(3 << 20))
    sh(sys.executable, "-c", SOS, root, "report", "--batch", "--build", "-o", "blog", "-k",
       "blog.size=1", "--sysroot", root, "--tmp-dir", out,
       env=os.environ | {"PYTHONPATH": str(modules)})  # fmt: skip
    (report,) = out.glob("sosreport-*")
    files = (report / blog.relative_to(root)).rglob("*")
    names = {str(f.relative_to(report / blog.relative_to(root))) for f in files if f.is_file()}
    assert names == collected
    saved = (report / "sos_commands/blog/blog").read_bytes()
    said = b"save -o -\n"
    assert saved == said + bytes((1 << 20) - len(said))


# --- the source package -------------------------------------------------------------


@pytest.fixture(scope="module")
def source(work: Path, sh: Run) -> Path:
    return Path(sh(TOP / "scripts/package-deb", "--source", work / "source").splitlines()[-1])


def test_the_source_package_has_all_fields_and_files(source: Path, work: Path, sh: Run) -> None:
    fields = dict(re.findall(r"^([\w-]+): (.+)$", source.read_text(), re.MULTILINE))
    assert fields["Format"] == "3.0 (native)"
    assert set(fields["Binary"].split(", ")) == {"blog-tools", "blog-dkms", "blog-dkms-rust"}
    needed = set(re.findall(r"[\w-]+(?= \(|,|$)", fields["Build-Depends"]))
    assert {"debhelper-compat", "cargo", "rustc", "rust-src"} <= needed
    sh("dpkg-source", "--no-check", "-x", source, work / "unpacked")
    assert os.access(work / "unpacked/debian/rules", os.X_OK)
    here = sh("git", "-C", TOP, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    lost = {name for name in here if not (work / "unpacked" / name).exists()}
    assert {Path(name).name for name in lost} <= {".gitignore"}, lost
    again = Path(sh(TOP / "scripts/package-deb", "--source", work / "again").splitlines()[-1])
    assert again.read_bytes() == source.read_bytes()


def test_the_source_package_makes_the_same_packages(
    source: Path, deb: Path, work: Path, sh: Run
) -> None:
    """Without the check of build dependencies, as Rust may be rustup's."""
    sh("dpkg-source", "--no-check", "-x", source, work / "built")
    sh("dpkg-buildpackage", "-us", "-uc", "-b", "-d", cwd=work / "built")
    for one in deb.parent.glob("*.deb"):
        listed = [
            re.findall(r"^(\S+) \S+ +\d+ \S+ \S+ (.+)$", sh("dpkg-deb", "-c", path), re.MULTILINE)
            for path in (one, work / one.name)
        ]
        assert len(listed[0]) > 20 and listed[0] == listed[1]


def test_linters_find_nothing_in_the_packages(source: Path, deb: Path, sh: Run) -> None:
    """But the maintainer's address, which is a placeholder, and what is overridden with a reason."""
    root = vm.fetch("lint") / "root"
    found = [*source.parent.iterdir(), *deb.parent.iterdir(), *TOP.glob("packaging/blog-tools.*")]
    with tempfile.TemporaryDirectory(dir=root) as folder:
        for path in found:
            shutil.copy(path, folder)
        lint, rpmlint = (
            sh(*offline(), "chroot", root, "sh", "-c",
               f"cd /{Path(folder).name} && {linter}", status=range(256))
            for linter in ("lintian --fail-on=none *.dsc *.deb", "rpmlint *.spec")
        )  # fmt: skip
    assert not re.findall("^[EW]: .*", lint, re.MULTILINE), lint
    assert "1 specfiles checked; 0 errors, 0 warnings" in rpmlint, rpmlint


# --- in a clean Debian --------------------------------------------------------------

# Each line is a test: its name, and what must succeed in that Debian.
INSIDE = r"""
it installs there: dpkg -i /golden/*.deb >/dev/null
blog-decode runs: blog-decode --version
the test of the package passes: mkdir tmp && AUTOPKGTEST_TMP=/golden/tmp sh decode /golden
man shows blog-decode's options: MANPAGER=cat MANWIDTH=80 man blog-decode 2>&1 | tee man.txt | grep -q -- --sidetable
man finds blog-fmt-sidetable: man -w blog-fmt-sidetable >/dev/null
man has nothing to complain of: ! man --warnings -E UTF-8 -l /usr/share/man/man1/blog-*.1.gz 2>&1 >/dev/null | grep .
bash completes: bash complete.bash | grep -qx -- --sidetable
zsh completes: zsh -f complete.zsh | paste -sd' ' | grep -qx '_blog-decode loads'
blog-ctl runs: blog-ctl --help | grep -q "trigger NAME" && man -w blog-ctl >/dev/null
fish completes: fish -c 'complete -C "blog-decode --sid"' | grep -q -- '^--sidetable'
copyright, changelog and the helper for drgn are there: ls /usr/share/doc/blog-tools/copyright /usr/share/doc/blog-tools/changelog.gz /usr/lib/python3/dist-packages/drgn_blog.py
the program for crash kernels is where its unit has it: test -x "$(sed -n s/^ExecStartPre=-//p /usr/lib/systemd/system/kdump-tools-dump.service.d/blog.conf)"
dpkg finds all files unchanged: ! dpkg --verify blog-tools | grep .
dpkg removes it: rm -rf /root/.config /root/.local /root/.cache /root/.zcompdump && dpkg -r blog-tools >/dev/null
dpkg purges what it has saved, and nothing else: mkdir -p /var/lib/blog/previous && touch /var/lib/blog/previous/000001-Z.blog /var/lib/blog/previous/mine && dpkg -P blog-tools >/dev/null && ls -R /var/lib/blog | grep -v : | paste -sd' ' | grep -qx 'previous  mine' && rm -r /var/lib/blog
nothing is left: list | diff before -
""".strip().splitlines()

BASH = """\
. /usr/share/bash-completion/completions/blog-decode
by=$(complete -p blog-decode) && by=${by#*-F } && by=${by%% *}
COMP_WORDS=(blog-decode --sid) COMP_CWORD=1
$by blog-decode --sid blog-decode
printf "%s\\n" "${COMPREPLY[@]}"
"""
ZSH = """\
autoload -U compinit && compinit -D -u && print -r -- $_comps[blog-decode] &&
autoload +X -Uz _blog-decode && print loads
"""
HEAD = """\
cd /golden
export LC_ALL=C.UTF-8 HOME=/root TERM=dumb
list() {
	find / -xdev \\( -path /proc -o -path /golden -o -path /var/lib/dpkg \\
		-o -path /var/cache/man -o -path /var/log/dpkg.log \\) -prune -o -print | sort
}
list >before
"""


def test_a_clean_debian(deb: Path, work: Path, sh: Run, subtests: pytest.Subtests) -> None:
    root = vm.debian("root", work)
    golden = root / "golden"
    golden.mkdir()
    for file in ("new.snap", "golden_mod.blogfmt", "text.txt", "stderr.txt"):
        shutil.copy(GOLDEN / file, golden)
    shutil.copy(TOP / "packaging/debian/tests/decode", golden)
    shutil.copy(deb, golden)
    script = HEAD
    for line in INSIDE:
        name, _, command = line.partition(": ")
        script += f'{{ {command}; }} && echo "ok - {name}" || echo "not ok - {name}"\n'
    for file, text in (("inside", script), ("complete.bash", BASH), ("complete.zsh", ZSH)):
        (golden / file).write_text(text)
    said = sh(*offline(), "chroot", root, "bash", "/golden/inside", status=range(256))
    shutil.rmtree(root)
    for name in ["a clean Debian 13 runs", *(line.partition(": ")[0] for line in INSIDE)]:
        with subtests.test(msg=name):
            last = INSIDE[-1].partition(": ")[0]
            wanted = f"ok - {last}$" if name.startswith("a clean") else f"^ok - {re.escape(name)}$"
            assert re.search(wanted, said, re.MULTILINE), said
