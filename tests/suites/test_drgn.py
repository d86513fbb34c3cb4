# SPDX-License-Identifier: GPL-2.0
"""The helpers of tools/drgn in drgn itself, with the real decoder and a log that is known.

The suite "crash" has them read dumps. No debug information is needed for any of it: of a task,
the helpers want its pid alone.
"""

import json
import os
import re
import struct
import subprocess
import sys
import tomllib
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drgn
import drgn_blog
import pytest
from conftest import TOP, Run, biglog
from drgn.commands import CommandExitStatusError, run_command

GOLDEN = TOP / "tools/blog-decode/tests/golden/expected"

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


# --- a log with losses, damage and several threads ----------------------------------

RING = 5
PID, TGID, COMM, EXITED = 16, 20, 24, 40


def with_rings(snapshot: bytes, edit: Callable[[int, bytearray], None]) -> bytes:
    """A snapshot whose ring sections are edited; `edit` gets the pid and the section's data."""
    out, at = bytearray(snapshot), 32
    while at < len(out):
        kind, _, length = struct.unpack_from("<HHQ", out, at + 4)
        data = out[at + 32 : at + 32 + length]
        if kind == RING:
            edit(struct.unpack_from("<i", data, PID)[0], data)
            struct.pack_into("<I", out, at + 24, zlib.crc32(data))
            struct.pack_into("<I", out, at + 28, zlib.crc32(out[at : at + 28]))
            out[at + 32 : at + 32 + length] = data
        at += 32 + (length + 7) // 8 * 8
    return bytes(out)


Edit = Callable[[int, bytearray], None]


@pytest.fixture
def edited(log: Path, prog: drgn.Program, monkeypatch: pytest.MonkeyPatch) -> Callable[[Edit], Any]:
    """Makes a program of the log after an edit."""

    def program(edit: Edit) -> drgn.Program:
        (log / "edited.snap").write_bytes(with_rings((log / "log.snap").read_bytes(), edit))
        monkeypatch.setattr(drgn_blog, "LIVE", (str(log / "edited.snap"),))
        return prog

    return program


@pytest.fixture
def golden(prog: drgn.Program, monkeypatch: pytest.MonkeyPatch) -> drgn.Program:
    """A program of the golden snapshot, which has losses and a record without a side table."""
    monkeypatch.setattr(drgn_blog, "LIVE", (str(GOLDEN / "new.snap"),))
    monkeypatch.setattr(warnings, "warn", lambda *_, **__: None)
    drgn_blog.blog_tables(prog, str(GOLDEN / "golden_mod.blogfmt"))
    return prog


def test_what_rings_have_lost_is_printed(
    golden: drgn.Program, capsys: pytest.CaptureFixture[str]
) -> None:
    drgn_blog.print_blog_rings(golden)
    heading, *lines = (line.split() for line in capsys.readouterr().out.splitlines())
    assert heading[2:4] == ["OVERWRITTEN", "LOST"]
    printed = {(line[6] if line[5].isdigit() else line[5], line[0]): line[2:4] for line in lines}
    assert printed["disk", "1"] == ["5", "0"] and printed["net", "1"] == ["0", "4"]


def as_thread(pid: int, ring: bytearray) -> None:
    """1001 becomes a thread of process 1000."""
    if pid == 1001:
        struct.pack_into("<i", ring, TGID, 1000)


def as_ended(pid: int, ring: bytearray) -> None:
    """1001 has ended, and had the id that is 1000's now."""
    if pid == 1001:
        struct.pack_into("<ii", ring, PID, 1000, 1000)
        struct.pack_into("<Q", ring, EXITED, 5_000_000)
        ring[9] = 1  # retired


def test_other_threads_of_a_process_are_left_out(
    edited: Callable[[Edit], Any], objects: list[Json]
) -> None:
    prog = edited(as_thread)
    for pid in (1000, 1001):
        seen = [o["message"] for o in drgn_blog.blog_records(prog, pid)]
        assert seen == [o["message"] for o in objects if o["pid"] == pid]


def test_thread_is_not_an_ended_one_with_its_id(
    edited: Callable[[Edit], Any], objects: list[Json]
) -> None:
    rings = {o["ring"] for o in drgn_blog.blog_records(edited(as_ended), 1000)}
    assert rings == {o["ring"] for o in objects if o["pid"] == 1000}

    def all_ended(pid: int, ring: bytearray) -> None:
        as_ended(1001 if pid == 1000 else pid, ring)

    seen = drgn_blog.blog_records(edited(all_ended), 1000)
    assert len(seen) == len([o for o in objects if o["pid"] in (1000, 1001)])


def test_losses_that_may_be_a_threads_are_among_its_records(
    golden: drgn.Program,
) -> None:
    """A loss in a ring of several writers may be of each of them."""
    mine = drgn_blog.blog_records(golden, 77)
    assert [(o["type"], o["pid"]) for o in mine] == [("record", 77), ("lost", None)]


def test_lines_say_what_those_of_the_decoder_say(
    golden: drgn.Program, capsys: pytest.CaptureFixture[str], decoder: Path, sh: Run
) -> None:
    """Also of losses, and of a record without a side table."""
    drgn_blog.print_blog_records(golden, n=None)
    printed = capsys.readouterr().out
    tables = ("-s", GOLDEN / "golden_mod.blogfmt")
    said = sh(decoder, *tables, GOLDEN / "new.snap", status=(1,))
    # The plugin leaves out the task or the interrupt.
    context = r"(?m)^(\[ *\d+\.\d+\]) (.{5}) (\S+) \S+(?:\[\d+\]|/\d): "
    assert printed == re.sub(context, r"\1 \3 \2 ", said.partition("blog-decode: ")[0])
    assert "older records overwritten" in printed
    assert "no side table" in printed


def test_all_causes_of_losses_have_the_decoders_words() -> None:
    source = (TOP / "tools/blog-decode/crates/decode/src/merge/mod.rs").read_text()
    texts = re.findall(r'"\{count\} ([^"]*)"', source.partition("pub fn describe(")[2])
    ours = {text.replace("{}", "{records}") for text in drgn_blog.LOSSES.values()}
    ours = {text.removeprefix("{records} ") for text in ours}
    assert {*texts} == ours | {"{records} lost here ({})"}


def test_times_beyond_64_bits_are_lines(
    prog: drgn.Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost: Json = {"type": "lost", "component": "x", "count": 7, "cause": "nested"}
    late = {**lost, "boot_ns": None, "count": None, "count_text": "9223372036854775808"}
    both = [{**lost, "boot_ns": -1500000}, late]
    monkeypatch.setattr(drgn_blog, "_objects", lambda *_: iter(both))
    drgn_blog.print_blog_records(prog)
    assert capsys.readouterr().out == (
        "[   -0.001500] x ----- 7 records lost here (nested)\n"
        "[           ?] x ----- 9223372036854775808 records lost here (nested)\n"
    )


def test_names_do_not_move_the_cursor_or_make_lines(
    edited: Callable[[Edit], Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def hostile(pid: int, ring: bytearray) -> None:
        ring[COMM : COMM + 16] = b"a\x1b[2J\nforged".ljust(16, b"\0")

    prog = edited(hostile)
    drgn_blog.print_blog_rings(prog)
    assert "a\\x1b[2J\\x0aforged\n" in capsys.readouterr().out
    name: Json = {"type": "component", "component": "c\x9b\u202e\r\n"}
    name |= {"rings": 1, "records": 2, "overwritten": 3, "lost": {"no-page": 1, "nested": 3}}
    record = {**name, "type": "record", "boot_ns": 5, "level": "info", "message": "m\x1b]0;\ntwo\n"}
    monkeypatch.setattr(drgn_blog, "_objects", lambda *_: iter([name, record]))
    drgn_blog.print_blog_components(prog)
    drgn_blog.print_blog_records(prog)
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"{1:>6} {2:>9} {3:>11} {4:>7} c\\x9b\\u{{202e}}\\x0d\\x0a",
        "[    0.000000] c\\x9b\\u{202e}\\x0d\\x0a info  m\\x1b]0;",
        "    two",
    ]


def test_command_is_of_a_thread(edited: Callable[[Edit], Any], work: Path) -> None:
    prog, out = edited(as_thread), work / "said"
    run_command(prog, f"blog --task 1000 -n 9 >{out}", globals={})
    assert out.read_text().count("fio[1000]") == 9
    run_command(prog, f"blog tasks --task 1001 -n 1 >{out}", globals={})
    assert "fio[1001] of 1000" in out.read_text()


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
        '[ "$3 $4 $5 $6" = "snapshot --vmcore /dumps/a b -o" ] &&'
        f' exec cp {log}/log.snap "$7"\n'
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
    assert asked.read_text().split() == ["convert", "show", "stats"]
    assert Path(drgn_blog.blog_snapshot(prog)).exists()
