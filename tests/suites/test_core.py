# SPDX-License-Identifier: GPL-2.0
"""scripts/core-asm: the compiler's flags, and that each of its checks finds a fault.

A wrapper in front of rustc notes what is passed. For a fault, it leaves the compilation out, and
gives out what an earlier one has made, with the fault in it.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import conftest
import pytest
from conftest import TOP

ANY = TOP / "packaging/anykernel"


def linux() -> Path:
    """The kernel's unmodified source."""
    return Path(conftest.run("scripts/fetch", "kernel", cwd=TOP).splitlines()[-1])


WRAPPER = """#!/bin/bash
case "$*" in -*V | --version | --print*) exec {rustc} "$@" ;; esac
printf '%q ' "$@" >>"$NOTES/args" && echo >>"$NOTES/args"
out='' name=''
while (($#)); do
	case $1 in
	--out-dir) out=$2 ;;
	--crate-name) name=$2 ;;
	--target=*.json) cp "${{1#*=}}" "$NOTES" ;;
	esac
	args+=("$1") && shift
done
if [[ ${{FAULT-unset}} == unset ]]; then
	{rustc} "${{args[@]}}" || exit
	[[ $name != blog ]] || cp -r "$out/." "$NOTES/out"
elif [[ $name == blog ]]; then
	cp -r "$NOTES/out/." "$out"
	for text in "$out"/*.s; do printf '%b\\n' "$FAULT" >>"$text"; done
fi
"""

# Flags of the kernel's that are not for this file, and those that only this has.
NOT_HERE = {
    "-Cembed-bitcode=n": "LTO needs the bitcode",
    "-Clto=n": "one module of what is used",
    "-Ctarget-cpu=native": "CONFIG_X86_NATIVE_CPU",
    "-Zno-jump-tables": "before rustc 1.93",
    "-Zbinary_dep_depinfo=y": "kbuild's dependencies",
}
ONLY_HERE = {
    "-Cembed-bitcode=y": "for LTO",
    "-Clto=fat": "one module of what is used",
    "-Cstrip=none": "the default",
    "-Copt-level=2": "CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE",
    "-Cdebug-assertions=n": "CONFIG_RUST_DEBUG_ASSERTIONS",
    "-Coverflow-checks=n": "CONFIG_RUST_OVERFLOW_CHECKS",
    "-Zpatchable-function-entry=16,16": "CONFIG_FUNCTION_PADDING_BYTES",
    "-Zunstable-options": "for the target's file",
    "-Zcrate-attr=feature(asm_goto)": "stable since 1.87",
    "-Zcrate-attr=no_std": "kbuild has it in a rule",
}


class Core:
    """A wrapper, and what a compilation has left."""

    def __init__(self, folder: Path) -> None:
        self.notes, self.bin = folder / "notes", folder / "bin"
        for part in (self.notes / "out", self.bin):
            part.mkdir(parents=True)
        wrapper = WRAPPER.format(rustc=shlex.quote(shutil.which("rustc") or "rustc"))
        (self.bin / "rustc").write_text(wrapper)
        (self.bin / "rustc").chmod(0o755)
        self.text = self.run(folder / "first").read_bytes()

    def run(self, out: Path, status: int = 0, said: str = "", **more: str) -> Path:
        env = os.environ | {"PATH": f"{self.bin}:{os.environ['PATH']}", "NOTES": str(self.notes)}
        temporary = out.with_suffix(".tmp")
        temporary.mkdir()
        answer = conftest.run(
            TOP / "scripts/core-asm", "--out", out, status=[status],
            env=env | {"TMPDIR": str(temporary)} | more)  # fmt: skip
        assert said in answer, answer
        return out / "core-x86_64.s"


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Core:
    return Core(tmp_path_factory.mktemp("core"))


def flags(text: str) -> set[str]:
    """Those that change the code or what is compiled."""
    return {word for word in shlex.split(text) if re.match(r"-[CZ]\w", word)}


def kernels_flags(*, arch: str) -> set[str]:
    """What the kernel's makefiles give each crate, in any configuration of 64 bits."""
    top = (linux() / "Makefile").read_text().replace("\\\n", " ")
    common = re.findall(r"^(?:export rust_common_flags|KBUILD_RUSTFLAGS) := (.*)", top, re.M)
    own = (linux() / f"arch/{arch}/Makefile").read_text()
    names = r"^\s*(?:KBUILD|RETHUNK)_RUSTFLAGS\s*[:+]= (.*)"
    words = " ".join([*common, *re.findall(names, own, re.M)])
    return flags(re.sub(r"\$\(if \$\(call [^)]*\),([^,]*),([^)]*)\)", r"\1 \2", words))


def test_flags_are_the_kernels(core: Core) -> None:
    kernel = kernels_flags(arch="x86")
    assert "-Ctarget-feature=-sse,-sse2,-sse3,-ssse3,-sse4.1,-sse4.2,-avx,-avx2" in kernel
    for line in (core.notes / "args").read_text().splitlines():
        ours = flags(line)
        assert kernel - set(NOT_HERE) - ours == set(), "the kernel has it, and this file not"
        assert ours - kernel - set(ONLY_HERE) == set(), "this file has it, and the kernel not"


def test_target_is_the_kernels(core: Core) -> None:
    """With the mitigations that a configuration may have, by scripts/generate_rust_target.rs."""
    target = json.loads((core.notes / "target.json").read_text())
    source = (linux() / "scripts/generate_rust_target.rs").read_text()
    branch = source.partition('cfg.has("X86_64")')[2].partition('cfg.has("X86_32")')[0]
    features = re.findall(r'"(-mmx,[^"]*)".to_string|features \+= ",([^"]*)"', branch)
    words = {word for pair in features for word in "".join(pair).split(",")} - {"-apxf"}
    assert set(target["features"].split(",")) == words
    assert f'"{target["data-layout"]}"' in branch
    assert f'"{target["llvm-target"]}"' in branch
    assert f'"rustc-abi", "{target["rustc-abi"]}"' in branch


def test_same_text_anywhere(core: Core, tmp_path: Path) -> None:
    assert core.run(tmp_path / "again").read_bytes() == core.text


def test_no_path_of_this_machine(core: Core) -> None:
    for path in (str(TOP), str(Path.home()), "/tmp/"):
        assert path.encode() not in core.text, path


@pytest.mark.parametrize(
    "fault, said",
    [
        (r"\tmovups\t%xmm0, (%rsp)", "vector registers"),
        (r"big:\n\tpushq\t%rbx\n\tsubq\t$2048, %rsp", "2056 big"),
        (r'.section .blog_sites,"aw"', "a log call of BLog itself"),
    ],
)
def test_fault_is_found(core: Core, tmp_path: Path, fault: str, said: str) -> None:
    core.run(tmp_path / "fault", status=1, said=said, FAULT=fault)


def test_new_symbol_is_found(core: Core, tmp_path: Path) -> None:
    tool = core.bin / "readelf"
    line = "1: 0 0 NOTYPE GLOBAL DEFAULT UND new_one"
    tool.write_text(f"#!/bin/sh\n{shutil.which('readelf')} \"$@\"\necho '{line}'\n")
    tool.chmod(0o755)
    try:
        core.run(tmp_path / "fault", status=1, said="> new_one", FAULT="")
    finally:
        tool.unlink()


def test_nothing_else_fails(core: Core, tmp_path: Path) -> None:
    """What the faults are planted in has none."""
    assert core.run(tmp_path / "none", FAULT="").read_bytes().strip() == core.text.strip()


def test_every_number_is_compared() -> None:
    """compat.c compares each number that the stand-in has with the kernel's headers."""
    source = "\n".join(file.read_text() for file in (ANY / "kernel").glob("*.rs"))
    numbers = re.findall(r"pub const (\w+): u(?:32|size) = (\w+);", source)
    numbers += re.findall(r"^ +(E\w+) (\d+);", source, re.MULTILINE)
    compared = " ".join(
        re.findall(r"static_assert\((.*?)\);", (ANY / "compat.c").read_text(), re.S)
    )
    found = {
        (name, int(value, 0)) for name, value in re.findall(r"(\w+) == (\w+)", octal(compared))
    }
    assert len(numbers) > 20 and found >= {(name, int(value, 0)) for name, value in numbers}


def octal(text: str) -> str:
    """C's octal numbers as Python's."""
    return re.sub(r"\b0(?=[0-7]+\b)", "0o", text)


def test_unknown_arguments() -> None:
    for words in ([], ["--out"], ["--out", "x", "--tree", "y"], ["--out", "x", "--arch", "arm"]):
        done = subprocess.run([TOP / "scripts/core-asm", *words], capture_output=True, text=True)
        assert done.returncode == 2 and "usage:" in done.stderr
