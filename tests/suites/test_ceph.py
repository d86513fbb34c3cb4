# SPDX-License-Identifier: GPL-2.0
"""CephFS, captured: a real cluster and the kernel's client in one guest of User Mode Linux. Its
debug messages decode to dynamic debug's text of the same calls; the waiting task leads to the
request that hangs; and all that costs little. Run by "make ceph", as it needs its own kernel and
Debian."""

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
ROUNDS = 12
FILES = 60  # of one storm
LOAD = 1  # seconds of fio

Records = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ran(work: Path) -> Iterator[vm.Result]:
    """What the guest has left."""
    root = vm.debian("ceph", work)
    (work / "params").write_text(f"root={root}\nfiles={FILES}\nseconds={LOAD}\nrounds={ROUNDS}\n")
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


def rounds(ran: vm.Result) -> dict[str, list[dict[str, float]]]:
    names = ("start", "end", "files", "reads", "writes", "records", "done")
    found: dict[str, list[dict[str, float]]] = {}
    for line in (ran.out / "rounds").read_text().splitlines():
        mode, *numbers = line.split()
        found.setdefault(mode, []).append(dict(zip(names, map(float, numbers), strict=True)))
    return found


def test_cost(ran: vm.Result) -> None:
    """Beside no log at all, and beside printing. The daemons, on the same CPUs, take most of the
    time, and runs differ by a fifth: what holds is a wide bound."""
    for what, done, taken in (
        ("files/s", lambda r: 2 * r["files"], lambda r: r["end"] - r["start"]),
        ("operations/s", lambda r: (r["reads"] + r["writes"]) * LOAD, lambda _: LOAD),
    ):
        rates = {
            mode: sum(map(done, each)) / sum(map(taken, each)) for mode, each in rounds(ran).items()
        }
        print(what, {mode: f"{rate:.1f}, {rate / rates['off']:.3f} of off"
                     for mode, rate in rates.items()})  # fmt: skip
        assert rates["captured"] > 0.6 * rates["off"]


def test_history(ran: vm.Result, decoder: Path, sh: Run) -> None:
    """How long 16 MiB last under that load."""
    captured = rounds(ran)["captured"]
    rate = sum(r["records"] for r in captured) / sum(r["done"] - r["start"] for r in captured)
    said = sh(decoder, "stats", "--json", "-s", vm.kernel("uml-net").modules,
              *(ran.out / f"printed.{module}.snap" for module in MODULES))  # fmt: skip
    sums = [o for line in said.splitlines() if (o := json.loads(line))["type"] == "component"]
    size = sum(o["bytes"] for o in sums) / sum(o["records"] for o in sums)
    print(f"{rate:.0f} records/s of {size:.1f} bytes: {16 * 2**20 / (rate * size):.0f} s in 16 MiB")
    assert {o["component"] for o in sums if o["records"]} >= {*MODULES}


def test_memory_with_many_threads(ran: vm.Result) -> None:
    before, after, rings = map(int, (ran.out / "threads").read_text().split())
    print(f"1,000 tasks: {rings} rings, {before >> 10} KiB before, {after >> 10} KiB after")
    assert after <= 2 * 17 << 20


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
