# SPDX-License-Identifier: GPL-2.0
"""What blog-decode says of hangs of ten kinds: the table of Documentation/blog/post-mortem.rst.

Each is a scene of blog/tests/torture/hang.c, in a guest of its own.
"""

import json
import re
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run

PAGE = TOP / "Documentation/blog/post-mortem.rst"
SCENES = re.findall(r'{ "(\w+)", hang_', (TOP / "blog/tests/torture/hang.c").read_text())
RUNS = ("running", "runnable")


def table() -> dict[str, tuple[str, str]]:
    """By scene: what is said, and the last record."""
    rows: dict[str, tuple[str, str]] = {}
    name = ""
    lines = PAGE.read_text().partition("\nTen hangs\n")[2].splitlines()
    first, _, end, *_ = (n for n, line in enumerate(lines) if line.startswith("===="))
    starts = [found.start() for found in re.finditer("=+", lines[first])]
    for line in lines[first + 3 : end]:
        cells = [line[at:to].strip() for at, to in zip(starts, [*starts[1:], None], strict=True)]
        name = cells[0] or name
        said, last = rows.get(name, ("", ""))
        rows[name] = f"{said} {cells[2]}".strip(), f"{last} {cells[3]}".strip()
    return rows


def test_the_page_has_all() -> None:
    assert len(SCENES) == 10
    assert list(table()) == SCENES


@pytest.mark.kernels("uml")
@pytest.mark.parametrize("scene", SCENES)
def test_hang(scene: str, work: Path, decoder: Path, sh: Run) -> None:
    kernel, work = vm.kernel("uml"), work / scene
    work.mkdir()
    (work / "params").write_text(f"scene={scene}\n")
    result = vm.run(work, kernel, TOP / "tests/guest/hangs/run.sh",
                    files=kernel.files() | {"hangs/params": work / "params"})  # fmt: skip
    assert not result.problem, result.told()
    said = sh(decoder, "tasks", "--json", "-c", "hang", "--sidetable", kernel.modules / "blog",
              result.out / "snapshot")  # fmt: skip
    head, *tasks = map(json.loads, said.splitlines())
    (finding,) = head["findings"]
    text = re.sub(r"\[\d+\]|, for up to [\d.]+ s| for which it waits", "", finding["text"])
    runs = sorted(task["comm"] for task in tasks if task["state"] in RUNS)
    if runs:
        names = " and ".join(re.sub("^kworker/.*", "a kworker", comm) for comm in runs)
        text += f"; {names} {'run' if runs[1:] else 'runs'}"
    asked = finding["pids"] or [task["pid"] for task in tasks]
    (task,) = [task for task in tasks if task["pid"] == asked[0]]
    assert (text, task["records"][-1]["message"]) == table()[scene], said
