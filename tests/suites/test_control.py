# SPDX-License-Identifier: GPL-2.0
"""The control files of a running kernel: bad input, good input, and settings at boot."""

import re
import time
from pathlib import Path

import pytest
import selftests
import vm
from conftest import TOP, Run, Tap, by_kernel

RANDOM = TOP / "tests/guest/random"
BOTH = pytest.mark.parametrize("flavour", by_kernel("uml", "x86"))


@BOTH
def test_control(flavour: str, work: Path, tap: Tap) -> None:
    kernel = vm.kernel(flavour)
    result = selftests.guest(work / flavour, kernel, "control")
    tap(result.lines())
    assert not result.problem, result.told()


@pytest.mark.kernels("uml")
def test_settings_at_boot(work: Path, tap: Tap) -> None:
    """For components that are built in, for those of modules that come, and at run time."""
    words = ["blog=off", "blog.component=rust_blog:level=err,private=keep,size_kb=64",
             "blog.component=nonsense", "blog.component=rust_blog:mode=x",
             "blog.component=rnull*:enable=1,mode=discard,ring_kb=32;:enable=1"]  # fmt: skip
    kernel = vm.kernel("uml")
    machine = vm.Machine(args=" ".join(words))
    result = selftests.guest(work / "settings", kernel, "settings", machine=machine)
    tap(result.lines())
    assert not result.problem, result.told()


@pytest.mark.kernels("uml")
def test_settings_of_a_file(work: Path, tap: Tap) -> None:
    kernel = vm.kernel("uml")
    files = kernel.files() | {"blog.service": TOP / "packaging/debian/blog.service"}
    result = vm.run(work / "service", kernel, TOP / "tests/guest/e2e/service.sh", files=files)
    tap(result.lines())
    assert not result.problem, result.told()


@BOTH
def test_errors_stay_in_their_share(
    flavour: str, work: Path, decoder: Path, tap: Tap, sh: Run
) -> None:
    kernel = vm.kernel(flavour)
    result = vm.run(work / f"warnings-{flavour}", kernel, TOP / "tests/guest/e2e/warnings.sh",
                    files=kernel.files())  # fmt: skip
    tap(result.lines())
    assert not result.problem, result.told()

    def refused(name: str) -> list[str]:
        said = sh(decoder, "--level", "err", "--format", "{message}",
                  "--sidetable", kernel.modules / "blog", result.out / name)  # fmt: skip
        return re.findall(r'blocksize = "(\w+)" refused', said)

    assert refused("share") == ["first", "second"]
    assert refused("there") == ["first", "second", "third"]
    # With no share any more, the others may go, too.
    assert "third" not in refused("gone")


@pytest.mark.parametrize("flavour", by_kernel("uml", "uml-kcov"))
def test_random_texts(flavour: str, work: Path, decoder: Path, sh: Run) -> None:
    """No text makes a file of BLog harm the kernel, and a driver logs on. With KCOV, the texts
    reach each folder of BLog's code that has files."""
    kernel, work = vm.kernel(flavour), work / f"random-{flavour}"
    work.mkdir()
    seed, seconds = (time.time_ns() % 10**6, 60) if flavour == "uml-kcov" else (7, 10)
    (work / "params").write_text(f"seed={seed} seconds={seconds}\n")
    known = re.findall(r'"([^"]+)"', (TOP / "blog/tests/blog.txt").read_text())
    known += [
        str((1 << bit) + less) for bit in (0, 4, 7, 12, 16, 20, 31, 32, 63, 64) for less in (0, -1)
    ]
    (work / "words").write_text("\n".join([*known, "-1", "0x10", "1e3"]))
    sh("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", work / "random",
       "-Wno-unused-result", RANDOM / "random.c")  # fmt: skip
    result = vm.run(work, kernel, RANDOM / "run.sh", programs={"bin/random": work / "random"},
                    files=kernel.files() | {f"random/{name}": work / name for name in ("params", "words")},
                    machine=vm.Machine(3, 512), seconds=seconds * 3 + 100)  # fmt: skip
    assert not result.problem, (seed, result.told())
    (records,) = re.findall(r"^records (\d+)$", "\n".join(result.lines()), re.MULTILINE)
    assert int(records) >= 50
    assert sh(decoder, "check", result.out / "snapshot")
    if flavour == "uml-kcov":
        reached = sorted({line for path in result.out.glob("pcs.*") for line in path.open()})
        (work / "pcs").write_text("".join(reached))
        places = sh("llvm-symbolizer", "--no-inlines", "--functions=none", "--output-style=GNU",
                    f"--obj={kernel.build / 'vmlinux'}", f"@{work / 'pcs'}")  # fmt: skip
        folders = set(re.findall(r"kernel/blog/((?:parts/)?\w+)/", places))
        parts = {
            f"parts/{name}" for name in ("map", "marker", "probe", "select", "settings", "trigger")
        }
        assert {"files", "read", "registry", "memory"} | parts <= folders


def words(path: str, pattern: str) -> set[str]:
    """The strings in what a pattern finds in a source."""
    found = re.search(pattern, (TOP / path).read_text(), re.DOTALL)
    assert found, (path, pattern)
    return set(re.findall(r'"([^"]+)"', found[1]))


def test_description_for_syzkaller() -> None:
    """It has the sources' words, ranges and files, and defines what it uses."""
    text = (TOP / "blog/tests/blog.txt").read_text()
    lists = {name: set(re.findall(r'"([^"]*)"', values))
             for name, values in re.findall(r"^blog_(\w+) = (\".*)$", text, re.MULTILINE)}  # fmt: skip
    wire, settings = "rust/kernel/blog/wire", "blog/registry/settings.rs"
    trigger, probe = "blog/parts/trigger", "blog/parts/probe/parse.rs"
    assert lists["levels"] == words(f"{wire}/record.rs", r"\n    Level \{(.*?)\n    \}") | {"off"}
    assert lists["privacy"] == words(f"{wire}/types.rs", r"\n    Privacy \{(.*?)\n    \}")
    assert lists["modes"] == words(settings, r"(Some\(\"overwrite\"\).*?\])")
    assert lists["compare"] == words(f"{trigger}/mod.rs", r"static COMPARE:(.*?)\];")
    assert lists["gates"] == words("blog/registry/images/query.rs", r"match flags \{(.*?)_ =>")
    assert lists["sizes"] == words(probe, r"\nfn code\((.*?)\n\}")
    sizes = words(f"{trigger}/parse.rs", r"let size = (.*?)_ =>")
    assert lists["types"] == {kind + size for kind in "iu" for size in sizes}
    keys = words("blog/parts/select/mod.rs", r"match key \{(.*?)_ =>")
    assert keys == set(re.findall(r'"(\w+)=', text.partition("blog_choice_level {")[2]))
    # The ranges of numbers. Each setting is a file, and so is what takes text.
    ranges = re.findall(
        r'Key::\w+, c"(\w+)", (\d+)\.\.=(?:1 << )?(\d+)', (TOP / settings).read_text()
    )
    assert len(ranges) == 7
    for name, first, last in ranges:
        known = re.search(rf"write\$blog_{name}\(.*?int32\[(\d+):(\d+)\]", text)
        most = str(1 << 20) if last == "20" else last
        assert not known or known.groups() == (first, most), name
    sources = [path.read_text() for path in (TOP / "blog").rglob("*.rs")]
    rows = [row for source in sources for row in re.split(r"FileOf(?:<.*?> =)? \{\n", source)[1:]]
    takes = {row.split('"')[1] for row in rows if "write:" in row.partition("FileOf::NONE")[0]}
    opened = set(re.findall(r'/(\w+)"\]\], flags const\[O_(?:RDWR|WRONLY)\]', text))
    assert opened == takes | {name for name, *_ in ranges} | {"component"}
    # What is used is defined, and the reverse.
    code = re.sub(r'^#.*|"[^"]*"', "", text, flags=re.MULTILINE)
    names = re.findall(r"(?<![\w$/])(?:fd_)?blog_\w+", code)
    define = r"^(?:resource |type )?((?:fd_)?blog_\w+)(?: = |\[fd\]| fmt| [{\[]\n)"
    defined = re.findall(define, code, re.MULTILINE)
    assert len(defined) == len(set(defined)) and set(defined) == set(names)
    assert not {name for name in defined if names.count(name) < 2}
