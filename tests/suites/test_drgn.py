# SPDX-License-Identifier: GPL-2.0
"""The helpers of tools/drgn in drgn itself, with the real decoder and a log that is known.

The suite "crash" has them read dumps. No debug information is needed for any of it: of a task,
the helpers want its pid alone.
"""

import json
import os
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import drgn
import drgn_blog
import pytest
from conftest import TOP, Run, biglog
from drgn.commands import CommandExitStatusError, run_command

SECONDS = 10

Json = dict[str, Any]


@pytest.fixture(scope="module")
def log(work: Path) -> Path:
    """The folder with log.snap and its side tables, log.ko."""
    return biglog("log", 20003, 4, work)


@pytest.fixture
def prog(log: Path, decoder: Path, monkeypatch: pytest.MonkeyPatch) -> drgn.Program:
    """A program without a dump; the running kernel's snapshot is the test's."""
    monkeypatch.setenv("BLOG_DECODE", str(decoder))
    monkeypatch.setattr(drgn_blog, "LIVE", (str(log / "log.snap"),))
    prog = drgn.Program(drgn.host_platform)
    drgn_blog.blog_tables(prog, str(log / "log.ko"))
    return prog


@pytest.fixture
def objects(log: Path, decoder: Path) -> list[Json]:
    """All of the log."""
    command = [str(decoder), "--json", "-s", str(log / "log.ko"), str(log / "log.snap")]
    said = subprocess.run(command, capture_output=True, check=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def pids(objects: list[Json]) -> list[int]:
    return sorted({o["pid"] for o in objects if o["pid"] is not None})


def task(prog: drgn.Program, pid: int) -> drgn.Object:
    """As drgn has a struct task_struct."""
    number = prog.int_type("int", 4, True)
    kind = prog.struct_type("task_struct", 4, [drgn.TypeMember(number, "pid")])
    return drgn.Object(prog, kind, {"pid": pid})


def test_package_is_whole() -> None:
    """The module that pyproject.toml names is there, and has all that it exports."""
    project = (TOP / "tools/drgn/pyproject.toml").read_text()
    assert 'py-modules = ["drgn_blog"]' in project.splitlines()
    assert all(hasattr(drgn_blog, name) for name in drgn_blog.__all__)


def test_running_kernel_is_read_from_debugfs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drgn_blog.blog_snapshot(drgn.Program()) == "/sys/kernel/tracing/blog/snapshot"


def test_components_and_rings_add_up(prog: drgn.Program, objects: list[Json]) -> None:
    records = [o for o in objects if o["type"] == "record"]
    components = drgn_blog.blog_components(prog)
    assert {c["component"] for c in components} == {r["component"] for r in records}
    assert sum(c["records"] for c in components) == len(records)
    for c in components:
        rings = drgn_blog.blog_rings(prog, c["component"])
        assert len(rings) == c["rings"]
        assert sum(r["records"] for r in rings) == c["records"]
    assert drgn_blog.blog_rings(prog, "no such") == []


def test_tasks_last_records(prog: drgn.Program, objects: list[Json]) -> None:
    assert pids(objects)
    for pid in pids(objects):
        mine = [o for o in objects if o["pid"] == pid]
        assert drgn_blog.blog_records(prog, pid) == mine
        assert drgn_blog.blog_records(prog, task(prog, pid), n=3) == mine[-3:]
    assert drgn_blog.blog_records(prog, pids(objects)[0], n=0) == []
    assert drgn_blog.blog_records(prog) == objects
    assert drgn_blog.blog_records(prog, 2**31 - 1) == []


def test_what_is_printed(
    prog: drgn.Program, objects: list[Json], capsys: pytest.CaptureFixture[str]
) -> None:
    pid = pids(objects)[0]
    mine = [o for o in objects if o["pid"] == pid]
    drgn_blog.print_blog_records(prog, task(prog, pid), 2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    for line, record in zip(lines, mine[-2:]):
        assert line.endswith(record["message"])
        assert record["component"] in line
    component = mine[0]["component"]
    drgn_blog.print_blog_components(prog)
    lines = capsys.readouterr().out.splitlines()
    assert component in [line.split()[-1] for line in lines[1:]]
    drgn_blog.print_blog_rings(prog, component)
    lines = capsys.readouterr().out.splitlines()
    assert any(str(pid) in line.split() for line in lines[1:])


def test_command(prog: drgn.Program, objects: list[Json], work: Path) -> None:
    """%blog prints what blog-decode does, of any task that an expression names."""
    pid, t, out = pids(objects)[0], task(prog, pids(objects)[0]), work / "said"
    mine = [r["message"] for r in objects if r["pid"] == pid and r["type"] == "record"]
    for words in ("--task t -n 3", "show --task t.pid.value_() -n 3", f"--pid {pid} -n 3"):
        run_command(prog, f"blog {words} >{out}".replace("()", r"\(\)"), globals={"t": t})
        lines = out.read_text().splitlines()
        assert [line.endswith(message) for line, message in zip(lines, mine[-3:])] == [True] * 3
    run_command(prog, f"blog stats --json >{out}")
    assert out.read_text() == "".join(
        json.dumps(o, separators=(",", ":")) + "\n" for o in drgn_blog._objects(prog, "stats")
    )
    with pytest.raises(CommandExitStatusError, match="'blog --nonsense' exited with status 2"):
        run_command(prog, "blog --nonsense")


def test_drgn_finds_the_command(work: Path, decoder: Path, sh: Run) -> None:
    """Where scripts/install puts it, by an entry point as in pyproject.toml."""
    sh(TOP / "scripts/install", env=os.environ | {"DESTDIR": str(work), "PREFIX": "/usr"})
    project = tomllib.loads((TOP / "tools/drgn/pyproject.toml").read_text())["project"]
    (point,) = work.glob(
        f"usr/share/blog/drgn_blog-{project['version']}.dist-info/entry_points.txt"
    )
    (plugin,) = project["entry-points"]["drgn.plugins"].items()
    assert point.read_text() == "[drgn.plugins]\n{} = {}\n".format(*plugin)
    # A program of any kind has drgn load its plugins.
    script = "import os; prog.set_pid(os.getpid()); from drgn.commands import run_command;" \
        "run_command(prog, 'blog --version')"  # fmt: skip
    env = os.environ | {"PYTHONPATH": f"{work}/usr/share/blog", "BLOG_DECODE": str(decoder)}
    said = sh(sys.executable, "-c", f"import drgn; prog = drgn.Program(); {script}", env=env)
    assert said == sh(decoder, "--version")


def test_losses_are_lines(
    prog: drgn.Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = {"type": "lost", "boot_ns": 5, "component": "x", "count": 7, "cause": "nested"}
    monkeypatch.setattr(drgn_blog, "_objects", lambda *_: iter([lost]))
    drgn_blog.print_blog_records(prog)
    assert "----- 7 records lost here (nested)" in capsys.readouterr().out


def test_errors_are_said(prog: drgn.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drgn_blog, "LIVE", ("/nowhere/snapshot",))
    with pytest.raises(RuntimeError, match="nowhere"):
        drgn_blog.blog_components(prog)
    monkeypatch.setenv("BLOG_DECODE", "/nowhere/blog-decode")
    with pytest.raises(FileNotFoundError, match="BLOG_DECODE"):
        drgn_blog.blog_components(prog)


def test_damaged_snapshot_warns_and_gives_what_is_whole(
    prog: drgn.Program, objects: list[Json], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (log / "log.snap").read_bytes()
    (log / "cut.snap").write_bytes(data[: len(data) * 2 // 3])
    monkeypatch.setattr(drgn_blog, "LIVE", (str(log / "cut.snap"),))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        some = drgn_blog.blog_records(prog)
    assert said
    assert 0 < len(some) < len(objects)


def test_dump_is_extracted_once(log: Path, decoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the decoder prints its arguments; the suite crash has real dumps."""
    asked, decode = log / "asked", log / "decode"
    decode.write_text(
        "#!/bin/sh\n"
        f'echo "$1" >>{asked}\n'
        '[ "$1 $2 $3 $4" = "extract --vmcore /dumps/a b -o" ] &&'
        f' exec cp {log}/log.snap "$5"\n'
        f'exec {decoder} "$@"\n'
    )
    decode.chmod(0o755)
    monkeypatch.setenv("BLOG_DECODE", str(decode))

    class Program:
        core_dump_path = "/dumps/a b"
        cache: Json = {}

    prog = Program()
    drgn_blog.blog_tables(prog, str(log / "log.ko"))
    assert drgn_blog.blog_records(prog, n=5)
    assert drgn_blog.blog_components(prog)
    assert asked.read_text().split() == ["extract", "show", "stats"]
    assert Path(drgn_blog.blog_snapshot(prog)).exists()
