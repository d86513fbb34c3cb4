# SPDX-License-Identifier: GPL-2.0
"""The results of builds.

They have the requested configuration, no string of a log call in loaded memory, side tables that
belong to their images, no trace of BLog with CONFIG_BLOG=n, and no warning.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run, by_kernel
from images import strings
from images.blogelf import Image

BLOG = {"x86": "m", "uml": "y", "x86-y": "y"}
FLAVOURS = by_kernel("x86", "uml", "x86-y")
# Without BLog: what patches change in UML, and no image (scripts/lib/kernel.sh)
WITHOUT = vm.places()[0] / "uml-n"
CALLS = "blog/tests/../parts/ccall/tests"
RNULL = "drivers/block/rnull/rnull_mod.o"
CHANGED = f"init/init_task.o kernel/fork.o fs/exec.o rust/kernel.o {RNULL}"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_configuration(flavour: str) -> None:
    assert vm.kernel(flavour).option("BLOG") == BLOG[flavour]


@pytest.mark.kernels("uml-n")
@pytest.mark.parametrize("name", CHANGED.split())
def test_without_blog_there_is_nothing_of_it(name: str, sh: Run) -> None:
    """Neither its sections, nor the need of a symbol that vmlinux would have to have."""
    assert "\n# CONFIG_BLOG is not set\n" in (WITHOUT / ".config").read_text()
    for section in (".blog_sites", ".debug.blog", ".blog_components"):
        assert not Image(WITHOUT / name).section(section)
    assert "blog" not in sh("llvm-nm", "-u", WITHOUT / name)


def compile_c(name: str, out: Path, sh: Run, options: str = "", source: Path | None = None) -> None:
    """Compiles a test of log calls in C, or another file, as the build of UML does, and with options."""
    build = vm.kernel("uml").build
    command = (build / f"kernel/{CALLS}/.{name}.o.cmd").read_text().splitlines()[0]
    command = command.split(" := ", 1)[1].split(" ; ")[0]
    command = re.sub(r"-Wp,-MMD,\S+", options, command)
    command = command.replace(f"-o kernel/{CALLS}/{name}.o", f"-o {out}")
    if source:
        command = re.sub(rf"\S+/{name}\.c\b", str(source), command)
    sh("bash", "-c", command, cwd=build)


@pytest.mark.kernels("uml")
def test_a_module_with_a_component_needs_blog(work: Path, sh: Run) -> None:
    """Even if it has no call: a module that is loaded before BLog has a component that never logs."""
    source = work / "component.c"
    source.write_text(
        "#include <linux/blog.h>\nextern struct blog_component c;\nBLOG_COMPONENT(c);\n"
    )
    compile_c("c_calls", work / "component.o", sh, source=source)
    build = vm.kernel("uml").build
    for path in (work / "component.o", build / "samples/rust/rust_blog.o"):
        assert "blog_clock_is_counter" in sh("llvm-nm", "-u", path), path


@pytest.mark.kernels("uml")
def test_with_lto_calls_of_two_files_stay_apart(work: Path, sh: Run) -> None:
    """Clang's LTO makes one assembly of them, in which a name is there once."""
    build, objects, sites = vm.kernel("uml").build, [], 0
    for name in ("c_calls", "c_capture"):
        objects.append(work / f"{name}.o")
        compile_c(name, objects[-1], sh, "-flto=full")
        sites += size_of_sites(build / f"kernel/{CALLS}/{name}.o")
    sh("ld.lld", "-r", "-o", work / "lto.o", *objects)
    assert size_of_sites(work / "lto.o") == sites > 100


def size_of_sites(path: Path) -> int:
    section = Image(path).section(".blog_sites")
    assert section, path
    return section.size


def with_log_calls(kernel: vm.Kernel) -> list[Path]:
    """Its images that describe log calls."""
    modules = (path for path in kernel.build.rglob("*.ko") if "install" not in path.parts)
    images = [path for path in modules if Image(path).section(".debug.blog")]
    return sorted(images) + [kernel.build / "vmlinux"] * (BLOG[kernel.flavour] == "y")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_images(flavour: str, sh: Run, subtests: pytest.Subtests) -> None:
    kernel = vm.kernel(flavour)
    tables = list((kernel.modules / "blog").rglob("*.blogfmt"))
    for path in with_log_calls(kernel):
        for name, found in strings.check(Image(path)):
            with subtests.test(msg=f"{path.name}: {name}"):
                assert not found, "\n".join(found[:10])
        with subtests.test(msg=f"{path.name}: its side table is installed, and of its build"):
            build_id = re.search(r"Build ID: (\w+)", sh("llvm-readelf", "-n", path))
            assert build_id
            table = [t for t in tables if t.stem == f"{path.stem}-{build_id[1]}"]
            assert table, "it is not installed"
            assert bytes.fromhex(build_id[1]) in table[0].read_bytes()


@pytest.mark.kernels("uml", "uml-n")
def test_no_string_is_in_memory_more_often_than_without_blog() -> None:
    """Not even short ones; before modpost, which adds words of its own."""
    found = dict(strings.check(Image(vm.kernel("uml").build / RNULL), Image(WITHOUT / RNULL)))
    assert sum("without BLog" in name for name in found) == 2 and not any(found.values()), found


# --- warnings: scripts/lib/kernel-warnings -----------------------------------------------


@pytest.mark.parametrize(
    ("made", "said"),
    [
        pytest.param("tree/blog/hook.c", "{}:7:2: warning: unused variable 'x' [-Wunused]", id="C"),
        pytest.param("tree/blog/main.rs", "warning: unused variable\n --> {}:7:2", id="rustc"),
        pytest.param("build/blog/main.o", "blog/main.o: warning: objtool: f() falls through",
                     id="objtool"),
        pytest.param("build/Module.symvers", "WARNING: modpost: blog/blog: section mismatch in f",
                     id="modpost"),
    ],
)  # fmt: skip
def test_a_warning_about_ours_is_an_error_and_comes_again(
    made: str, said: str, tmp_path: Path
) -> None:
    """The next build compiles the file with the warning again."""
    path, log = tmp_path / made, tmp_path / "log"
    for where in ("build", "tree"):
        (tmp_path / where / "blog").mkdir(parents=True)
    path.touch()
    os.utime(path, (1, 1))
    log.write_text(said.format(path) + "\n")
    command = [TOP / "scripts/lib/kernel-warnings", log, tmp_path / "build", tmp_path / "tree"]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 1
    assert not path.exists() or path.stat().st_mtime > 1


def test_warnings_about_others_are_none(tmp_path: Path, sh: Run) -> None:
    """Also if the tree is in a folder with BLog's name."""
    (tmp_path / "log").write_text("""\
  CC      blog/sys/hook.o
/blog/tree/Makefile:7: warning: not ours
../arch/um/drivers/x.c:7:2: warning: not ours
drivers/tty/x.o: warning: objtool: f() falls through to next function g()
ld.lld: warning: .tmp_vmlinux1 has a LOAD segment with RWX permissions
""")
    sh(TOP / "scripts/lib/kernel-warnings", tmp_path / "log", "/blog/build", "/blog/tree")
