# SPDX-License-Identifier: GPL-2.0
"""NFS, server and client, captured through the macros that sunrpc has for its messages: both run in
one guest of User Mode Linux. Records decode to what rpcdebug prints of the same calls; and who waits
for a server that has stopped is found with the request."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import vm
from conftest import TOP, Run, masked

pytestmark = pytest.mark.kernels("uml-net")

MODULES = ("sunrpc", "nfs", "nfsv3", "nfsv4", "nfsd", "lockd")
FILES = 20


@pytest.fixture(scope="module")
def ran(work: Path) -> Iterator[vm.Result]:
    """What the guest has left."""
    root = vm.debian("nfs", work)
    (work / "params").write_text(f"root={root}\nfiles={FILES}\n")
    kernel = vm.kernel("uml-net")
    # All that is printed must fit into the kernel's log.
    machine = vm.Machine(2, 2048, "log_buf_len=64M hung_task_panic=0")
    result = vm.run(work, kernel, TOP / "tests/guest/nfs/run.sh",
                    files={"nfs/params": work / "params"} | kernel.files(),
                    machine=machine, seconds=300, warn=True, echo=print)  # fmt: skip
    assert not result.problem, result.told()
    yield result


def records(ran: vm.Result, decoder: Path, sh: Run, name: str) -> list[dict[str, Any]]:
    """Of all modules, by time."""
    files = [ran.out / f"{name}.{module}.snap" for module in MODULES]
    said = sh(decoder, "--json", "-s", vm.kernel("uml-net").modules, *files)
    return [json.loads(line) for line in said.splitlines()]


@pytest.mark.parametrize("name", ["printed", "printed3"])
def test_records_are_what_rpcdebug_prints(
    ran: vm.Result, decoder: Path, sh: Run, name: str
) -> None:
    """Line by line; of version 4.2, and of version 3."""
    printed = Counter(
        masked(line)
        for line in re.findall(
            r"^<\d+>(?:\[ *\d+\.\d+\] )?(.*)$", (ran.out / name).read_text(), re.MULTILINE
        )
        if line.strip()
    )
    found = records(ran, decoder, sh, name)
    assert not [r for r in found if r["type"] == "lost"]
    recorded = Counter(
        masked(line) for r in found for line in r["message"].split("\n") if line.strip()
    )
    calls = Counter(r["component"] for r in found)
    print(f"{recorded.total()} lines, {dict(calls)} records")
    # Between two switches, a thread may have said something to one of them only.
    differ = (printed - recorded) + (recorded - printed)
    assert recorded.total() > 2000
    assert differ.total() < 20, differ.most_common(10)
    assert calls["nfs"] > 1000 and calls["nfsd"] > 50 and calls["sunrpc"] > 50
    # A facility is the class of calls that name one.
    assert {"VFS", "FILE"} <= {r.get("class") for r in found}


def test_who_waits_for_a_stopped_server_is_found(ran: vm.Result, decoder: Path, sh: Run) -> None:
    """The request is the last thing that it has said, and the transport says why."""
    said = sh(decoder, "tasks", "--blocked", "-s", vm.kernel("uml-net").modules,
              ran.out / "stalled.nfs.snap")  # fmt: skip
    print(said)
    tasks = [part.splitlines() for part in said.split("\n\n")]
    (blocked,) = [lines for lines in tasks if re.match(r"mkdir\[\d+\]: blocked \(D\)", lines[0])]
    assert re.search(r"NFS: mkdir\(.*\), stalled$", blocked[-1])
    last = [
        r["message"] for r in records(ran, decoder, sh, "stalled") if r["component"] == "sunrpc"
    ]
    assert any(re.search(r"xs_error_report client .*, error=111", m) for m in last[-20:])
