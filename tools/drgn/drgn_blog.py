# SPDX-License-Identifier: LGPL-2.1-or-later
"""
BLog
----

What BLog, the binary kernel logger, holds of the running kernel or of a crash dump.

Everything comes from the decoder, ``blog-decode``, which must be in the PATH (or is named
by the environment variable ``BLOG_DECODE``). Of a dump it makes a snapshot, once for each
program; of the running kernel it reads ``snapshot`` in tracefs or debugfs each time.
Objects are those of ``blog-decode --json``, as dictionaries.

drgn 0.1 and later loads this module as a plugin, and has the command ``%blog``.
"""

import atexit
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = (
    "blog_components",
    "blog_records",
    "blog_rings",
    "blog_snapshot",
    "blog_tables",
    "print_blog_components",
    "print_blog_records",
    "print_blog_rings",
)

# Where the running kernel has it; without patches, it is in debugfs.
LIVE = ("/sys/kernel/tracing/blog/snapshot", "/sys/kernel/debug/blog/snapshot")

# Keys of what is kept in drgn's own cache of the program.
SNAPSHOT = "blog_snapshot"
TABLES = "blog_tables"


def _start(*args: str, **options: Any) -> subprocess.Popen[bytes]:
    decode = os.environ.get("BLOG_DECODE", "blog-decode")
    try:
        return subprocess.Popen([decode, *args], stdout=subprocess.PIPE, **options)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{decode} is not there: install blog-decode, or set BLOG_DECODE"
        ) from error


def _run(*args: str) -> bytes:
    """Run the decoder. What it finds damaged is a warning; if nothing comes out, an error."""
    with _start(*args, stderr=subprocess.PIPE) as child:
        out, err = child.communicate()
    said = err.decode(errors="replace").strip()
    if child.returncode not in (0, 1):
        raise RuntimeError(f"blog-decode {args[0]}: {said or child.returncode}")
    if child.returncode == 1:
        warnings.warn(said, stacklevel=3)
    return out


def _files(prog: Any) -> list[str]:
    """The arguments that name side tables and the snapshot."""
    tables = [f"--sidetable={path}" for path in prog.cache.get(TABLES, ())]
    return [*tables, blog_snapshot(prog)]


def _id(task: Any) -> int:
    return task if isinstance(task, int) else task.pid.value_()


def _of_thread(objects: list[dict[str, Any]], thread: int) -> list[dict[str, Any]]:
    """Leave what is of a thread, of objects that --pid and --stats chose: --pid takes process ids,
    too, and a thread that has ended may have had the same id. That one's rings are retired."""
    rings = {
        (o["component"], o["ring"]): o["retired"]
        for o in objects
        if o["type"] == "ring" and o["pid"] == thread and "shared" not in o
    }
    lives = not all(rings.values())
    ended = {ring for ring, retired in rings.items() if retired and lives}

    def is_it(o: dict[str, Any]) -> bool:
        if "shared" in o and o["type"] == "lost":
            return True  # of any thread
        return o["pid"] == thread and (o["component"], o["ring"]) not in ended

    return [o for o in objects if o["type"] in ("record", "lost") and is_it(o)]


# What may move the cursor, or change the order of letters, without being a control character.
UNSAFE = {"\u061c", "\u200e", "\u200f"}
UNSAFE |= {chr(n) for n in (*range(0x2028, 0x202F), *range(0x2066, 0x206A))}


def _plain(text: str, end: str = "\\x0a") -> str:
    """Text that is safe for a terminal, as blog-decode prints it; ``end`` replaces line ends."""

    def escape(c: str) -> str:
        if c == "\n":
            return end
        if unicodedata.category(c) == "Cc":
            return f"\\x{ord(c):02x}"
        return f"\\u{{{ord(c):x}}}" if c in UNSAFE else c

    return "".join(map(escape, text))


def _objects(prog: Any, command: str, *args: str) -> Iterator[dict[str, Any]]:
    for line in _run(command, "--json", *args, *_files(prog)).splitlines():
        yield json.loads(line)


def blog_tables(prog: Any, *paths: str) -> None:
    """
    Say where side tables are that are not installed in /lib/modules: files, vmlinux, .ko
    files, or directories of them.

    >>> blog_tables(prog, "/build/linux")
    """
    prog.cache[TABLES] = [os.fspath(path) for path in paths]


def blog_snapshot(prog: Any) -> str:
    """
    Get the path of the snapshot that the other helpers read. It can be given to
    ``blog-decode`` as it is, as long as drgn runs.

    >>> blog_snapshot(prog)
    '/tmp/blog-a8dk2l/snapshot'
    """
    dump = getattr(prog, "core_dump_path", None)
    if dump is None or os.fspath(dump) == "/proc/kcore":
        return next(filter(os.path.exists, LIVE), LIVE[0])
    path: str | None = prog.cache.get(SNAPSHOT)
    if path is None:
        folder = tempfile.mkdtemp(prefix="blog-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "snapshot")
        _run("convert", "--to", "snapshot", "--vmcore", os.fspath(dump), "-o", path)
        prog.cache[SNAPSHOT] = path
    return path


def blog_components(prog: Any) -> list[dict[str, Any]]:
    """
    Get all components: name, numbers of rings and records, losses.

    >>> [c["component"] for c in blog_components(prog)]
    ['rnull']
    """
    return [o for o in _objects(prog, "stats") if o["type"] == "component"]


def blog_rings(prog: Any, component: str | None = None) -> list[dict[str, Any]]:
    """
    Get the rings (of one component): context, CPU or task, numbers of records, losses.

    >>> [r["comm"] for r in blog_rings(prog, "rnull") if r["context"] == "task"]
    ['fio', 'kworker/u8:1']
    """
    only = () if component is None else ("--component", component)
    return [o for o in _objects(prog, "stats", *only) if o["type"] == "ring"]


def blog_records(
    prog: Any, task: Any | int | None = None, n: int | None = None
) -> list[dict[str, Any]]:
    """
    Get the last ``n`` records of a thread, the newest last; of all tasks and interrupts where
    ``task`` is ``None``, and all there are where ``n`` is. What was lost among them is there
    too, as objects of type ``lost``.

    :param task: ``struct task_struct *``, or a thread id. If several threads had the id, it is
        that of the one that lives; if none of them lives, of all.

    >>> blog_records(prog, find_task(prog, 417))[-1]["message"]
    'Write { fua: true } at 8'
    """
    if task is None:
        records = [o for o in _objects(prog, "show") if o["type"] in ("record", "lost")]
    else:
        only = ("--stats", f"--pid={_id(task)}")
        records = _of_thread(list(_objects(prog, "show", *only)), _id(task))
    return records if n is None else records[max(len(records) - n, 0) :]


def _lost(item: dict[str, Any]) -> int:
    lost: dict[str, int] = item["lost"]
    return sum(lost.values())


def print_blog_components(prog: Any) -> None:
    """Print a line for each component."""
    print(f"{'RINGS':>6} {'RECORDS':>9} {'OVERWRITTEN':>11} {'LOST':>7} COMPONENT")
    for c in blog_components(prog):
        name = _plain(c["component"])
        over = c["overwritten"]
        print(f"{c['rings']:>6} {c['records']:>9} {over:>11} {_lost(c):>7} {name}")


def print_blog_rings(prog: Any, component: str | None = None) -> None:
    """Print a line for each ring (of one component)."""
    print(
        f"{'RING':>6} {'RECORDS':>9} {'OVERWRITTEN':>11} {'LOST':>7} {'CONTEXT':<8} "
        f"{'PID/CPU':>8} COMPONENT COMM"
    )
    for r in blog_rings(prog, component):
        who = r["pid"] if r["pid"] is not None else r["cpu"]
        print(
            f"{r['ring']:>6} {r['records']:>9} {r['overwritten']:>11} {_lost(r):>7} "
            f"{r['context'] or 'shared':<8} "
            f"{'' if who is None else who:>8} {_plain(r['component'])} "
            f"{_plain(r['comm'] or '')}".rstrip()
        )


# What losses are, by their cause, as blog-decode says it.
LOSSES = {
    "overwritten": "{} older {} overwritten",
    "missing": "{} {} missing here (not in the snapshot)",
    "damaged": "{} {} damaged here",
    "left_out": "{} {} left out here",
    "elsewhere": "{} older {} are in files before this one",
}


def _line(item: dict[str, Any]) -> str:
    """A record or a loss as a line of text."""
    time, level = "?".rjust(12), item.get("level") or "?"
    if item["boot_ns"] is not None:
        seconds, ns = divmod(abs(item["boot_ns"]), 10**9)
        sign = "-" if item["boot_ns"] < 0 else ""
        time = f"{sign}{seconds}.{ns // 1000:06}".rjust(12)
    text = item.get("message", "").rstrip("\n")
    if item["type"] == "lost":
        # A number that is beyond 64 bits is text.
        count = item["count"] if item["count"] is not None else item["count_text"]
        level, text = "-----", LOSSES.get(item["cause"], f"{{}} {{}} lost here ({item['cause']})")
        text = text.format(count, "record" if count == 1 else "records")
    return f"[{time}] {_plain(item['component'])} {level:<5} {_plain(text, chr(10) + '    ')}"


def print_blog_records(prog: Any, task: Any | int | None = None, n: int | None = 10) -> None:
    """Print the last ``n`` records of a thread: seconds since boot, component, level, message."""
    for item in blog_records(prog, task, n):
        print(_line(item))


def _blog(prog: Any, name: str, args: Sequence[str], **kwargs: Any) -> None:
    """Run the decoder with the words of a command, and print what it prints."""
    words = list(args)
    if "--task" in words[:-1]:
        at = words.index("--task")
        thread = _id(eval(words[at + 1], kwargs["globals"]))
        # --pid takes process ids, too. Only "tasks" shows whose each record is.
        only = [] if "tasks" in words else [f"--where=pid == {thread}"]
        words[at : at + 2] = [f"--pid={thread}", *only]
    with _start(*words, *_files(prog)) as child:
        assert child.stdout
        for line in child.stdout:
            sys.stdout.write(line.decode(errors="replace"))
    if child.returncode not in (0, 1):
        raise CommandExitStatusError(shlex.join([name, *args]), child.returncode)


try:
    from drgn.commands import CommandExitStatusError, custom_command, parse_shell_command
except ImportError:
    pass  # an older drgn
else:
    custom_command(
        name="blog",
        description="show what BLog, the binary kernel logger, holds",
        usage="**blog** [**--task** *expression*] [*argument*...]",
        long_description="""
        Run ``blog-decode`` with these arguments, on the log of this dump or of the running
        kernel: ``%blog tasks`` shows what stuck tasks did last, ``%blog -n 20`` the last 20
        records, ``%blog --task t -n 20`` those of a thread, which is an object or a thread id,
        and ``%blog -h`` all options. ``--task`` is a condition, as ``--where`` is: give only one
        of them.
        """,
        parse=parse_shell_command,
    )(_blog)
