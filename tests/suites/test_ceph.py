# SPDX-License-Identifier: GPL-2.0
"""CephFS, captured: a real cluster and the kernel's client in one guest of User Mode Linux. Its
debug messages decode to dynamic debug's text of the same calls, and the waiting task leads to the
request that hangs. Run by "make ceph", as it needs its own kernel and Debian."""

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

HERE = TOP / "tests/guest/ceph"
MODULES = ("ceph", "libceph")

Records = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ran(work: Path) -> Iterator[vm.Result]:
    """What the guest has left."""
    root = vm.debian("ceph", work)
    (work / "params").write_text(f"root={root}\n")
    files = {"ceph/params": work / "params", "ceph/cluster.sh": HERE / "cluster.sh"}
    kernel, fio = vm.kernel("uml-net"), vm.fetch("fio") / "fio"
    # All that is printed must fit into the kernel's log.
    machine = vm.Machine(2, 4096, "log_buf_len=64M hung_task_panic=0")
    result = vm.run(work, kernel, HERE / "run.sh", files=files | kernel.files(),
                    programs={"bin/fio": fio}, machine=machine, seconds=900, warn=True,
                    echo=print)  # fmt: skip
    assert not result.problem, result.told()
    yield result


def records(ran: vm.Result, decoder: Path, sh: Run, *names: str) -> Records:
    """Of both modules, by time."""
    files = [ran.out / f"{name}.{module}.snap" for name in names for module in MODULES]
    said = sh(decoder, "--json", "-s", vm.kernel("uml-net").modules, *files)
    return [json.loads(line) for line in said.splitlines()]


def test_records_are_what_dynamic_debug_prints(ran: vm.Result, decoder: Path, sh: Run) -> None:
    """Line by line, of the same calls: by module, line and text."""
    line = re.compile(r"^(?:\[ *\d+\.\d+\] )?(ceph|libceph):(\d+): (.*)$", re.MULTILINE)
    printed = Counter(
        (module, int(number), masked(text))
        for module, number, text in line.findall((ran.out / "printed").read_text())
    )
    found = records(ran, decoder, sh, "printed")
    assert not [r for r in found if r["type"] == "lost"]
    recorded = Counter(
        (r["component"], r["line"], masked(r["message"])) for r in found if r["type"] == "record"
    )
    print(f"{recorded.total()} records of {len({key[:2] for key in recorded})} calls")
    # Between two switches, a thread may have said something to one of them only.
    differ = (printed - recorded) + (recorded - printed)
    assert recorded.total() > 20000
    assert differ.total() < 50, differ.most_common(10)


@pytest.mark.parametrize(("daemon", "comm"), [("mds", "mkdir"), ("osd", "dd")])
def test_a_stall_is_found(ran: vm.Result, decoder: Path, sh: Run, daemon: str, comm: str) -> None:
    """While a daemon is stopped, the last records of who waits say for what."""
    found = [r for r in records(ran, decoder, sh, daemon) if r["type"] == "record"]
    last = [r["message"] for r in found if r["comm"] == comm]
    if daemon == "mds":
        assert last[-1].endswith("ceph_mdsc_wait_request: do_request waiting")
        assert any(
            re.search(r"__prepare_send_request: .* lookup \(attempt 1\)", m) for m in last[-12:]
        )
        assert any("1/stalled" in message for message in last[-12:])
    else:
        assert any(re.search(r"to osd0 42=osd_op len .*\+262144 ", m) for m in last[-12:])
