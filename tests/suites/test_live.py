# SPDX-License-Identifier: GPL-2.0
"""Streams in a running kernel, and blog-decode on them.

The stream files: system calls, latency, twenty readers at once, slow readers, drivers and
components that go away meanwhile. Captures decode to the records of the rings, each once.
blog-decode --follow, record and blog-ctl on the real files of debugfs.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import selftests
import vm
from conftest import TOP, Run, Tap, by_kernel, for_guest

HERE = TOP / "tests/guest/live"
Key = tuple[Any, ...]  # of a ring
# With modules' tables, and a clock of counted instructions
QEMU = pytest.mark.parametrize("qemu", by_kernel("stock", "x86"))


@pytest.fixture(scope="module")
def programs(work: Path, decoder: Path) -> dict[str, Path]:
    """What a guest runs."""
    (work / "bin").mkdir()
    ctl, streams = decoder.with_name("blog-ctl"), selftests.install(work)["selftests/blog"]
    return {**for_guest(decoder, work / "bin/blog-decode"), **for_guest(ctl, work / "bin/blog-ctl"),
            "bin/streams": streams / "streams"}  # fmt: skip


@pytest.fixture(scope="module", params=by_kernel("uml", "x86"))
def kernel(request: pytest.FixtureRequest) -> vm.Kernel:
    return vm.kernel(request.param)


def boot(qemu: str, work: Path, programs: dict[str, Path], name: str, **machine: Any) -> vm.Result:
    kernel = vm.kernel(qemu)
    return vm.run(
        work / f"{name}-{qemu}", kernel, HERE / f"{name}.sh", files=kernel.files(), programs=programs,
        machine=vm.Machine(**machine), seconds=400)  # fmt: skip


@pytest.fixture(scope="module")
def streams(work: Path, kernel: vm.Kernel) -> vm.Result:
    """A guest in which streams are read; it leaves captures and snapshots."""
    machine = vm.Machine(mem=1536)
    return selftests.guest(work / f"streams-{kernel.flavour}", kernel, "streams", machine=machine)


def test_streams(streams: vm.Result, tap: Tap) -> None:
    tap(streams.lines())
    assert not streams.problem, streams.told()


class Capture:
    """The decoder's output for a file."""

    def __init__(self, path: Path, kernel: vm.Kernel, decoder: Path, sh: Run) -> None:
        """It is whole, and has each record once, in order."""
        sh(decoder, "check", path)
        tables = kernel.modules / "blog"
        said = sh(decoder, "--json", "--stats", "--sidetable", tables, path)
        self.name = path.name
        self.rings: dict[Key, list[tuple[int, int, str]]] = defaultdict(list)
        self.losses = Counter[str]()
        self.components: dict[str, Any] = {}
        times = []
        for line in said.splitlines():
            entry = json.loads(line)
            if entry["type"] == "record":
                key = tuple(entry[k] for k in ("component", "ring", "context", "cpu", "pid"))
                self.rings[key].append((entry["ordinal"], entry["clock"], entry["message"]))
                times.append(entry["boot_ns"])
            # Components that are built in may have lost records before this.
            elif entry["type"] == "lost" and entry["component"] == "rnull":
                self.losses[entry["cause"]] += entry["count"]
            elif entry["type"] == "ringless":
                self.components[entry["component"]] = entry
        assert self.rings, f"{path} has no record"
        assert times == sorted(times), f"{path}: not in the order of time"

    def count(self, component: str) -> int:
        return sum(len(records) for key, records in self.rings.items() if key[0] == component)

    def only(self, component: str) -> dict[Key, list[tuple[int, int, str]]]:
        return {key: records for key, records in self.rings.items() if key[0] == component}

    def has_all_of(self, snapshot: "Capture") -> None:
        """And nothing else."""
        mine, its = self.only("rnull"), snapshot.only("rnull")
        sizes = {k: (len(mine.get(k, [])), len(its.get(k, []))) for k in mine.keys() | its.keys()}
        assert mine == its, f"records of rings, here and in the snapshot: {sizes}"
        assert not self.losses["reader-lag"]


class Captures:
    """The captures that the guest has left."""

    def __init__(
        self, out: Path, kernel: vm.Kernel, decoder: Path, sh: Run, subtests: pytest.Subtests
    ) -> None:
        self.out, self.kernel, self.decoder, self.sh = out, kernel, decoder, sh
        self.subtests = subtests

    def __getitem__(self, name: str) -> Capture:
        return Capture(self.out / name, self.kernel, self.decoder, self.sh)

    def each(self, prefix: str, count: int) -> Iterator[str]:
        """The names of these captures; each is a subtest."""
        names = sorted(path.name for path in self.out.glob(f"{prefix}*.[0-9]*"))
        assert len(names) == count, names
        for name in names:
            with self.subtests.test(msg=name):
                yield name

    def records(self, name: str) -> int:
        """How many records the component has written, by its own count."""
        found = re.search(
            r"^records (\d+)$", (self.out / f"{name}.stats").read_text(), re.MULTILINE
        )
        assert found
        return int(found[1])


@pytest.fixture
def captures(
    streams: vm.Result, kernel: vm.Kernel, decoder: Path, sh: Run, subtests: pytest.Subtests
) -> Captures:
    return Captures(streams.out, kernel, decoder, sh, subtests)


def test_twenty_readers(captures: Captures) -> None:
    """They have all that the snapshot has, in any way of reading."""
    snapshot = captures["twenty.snapshot"]
    assert snapshot.count("rnull") == captures.records("twenty") > 8000
    for name in captures.each("twenty", 20):
        captures[name].has_all_of(snapshot)


def test_slow_readers(captures: Captures) -> None:
    """They have missed exactly the reported records, in their rings and in rings that are gone."""
    taken = captures.records("slow")
    for name in captures.each("slow", 4):
        capture = captures[name]
        component = capture.components["rnull"]
        missed = capture.losses["reader-lag"] + component["lost"].get("reader-lag", 0)
        before = capture.losses["overwritten"] + component["gone"]
        assert capture.count("rnull") + missed + before == taken
        assert not capture.losses.keys() - {"reader-lag", "overwritten"}, capture.losses
        assert missed or "all" in name, "it was not slow"


def test_reload(captures: Captures) -> None:
    """The driver was away meanwhile."""
    snapshot = captures["reload.snapshot"]
    for name in captures.each("reload", 3):
        captures[name].has_all_of(snapshot)


def test_a_component_has_gone(captures: Captures) -> None:
    """Its stream has its last record, which was logged on the way out; the stream of all has
    the same, and the records of a module that came later."""
    if captures.kernel.option("SAMPLE_RUST_BLOG") == "y":
        pytest.skip("rust_blog is built in")
    names = ("gone.before", "gone.left", "gone.rest", "gone-all.1")
    before, left, rest, both = (captures[name] for name in names)
    gone = "rust_blog_disk0"
    assert 0 < before.count(gone) == rest.count(gone) - 1
    assert left.only(gone) == rest.only(gone)
    last = [records[-1][2] for records in rest.rings.values()][-1]
    assert last.startswith("gone after"), last
    assert both.only(gone) == rest.only(gone)
    assert both.count("rust_blog")


@QEMU
def test_decoder(
    qemu: str, work: Path, programs: dict[str, Path], decoder: Path, tap: Tap, sh: Run
) -> None:
    """A recording from there decodes here, where its tables are not installed."""
    result = boot(qemu, work, programs, "decoder")
    tap(result.lines())
    assert not result.problem, result.told()
    said = sh(decoder, "--modules", "/nowhere", "--format", "{message}", result.out / "rec")
    lines = said.splitlines()
    assert not [line for line in lines if line.startswith("blog-decode: ")]
    shown = sum(line.startswith("queue Read") for line in lines)
    assert shown == int((result.out / "reads").read_text())
    # What was saved decodes where there is nothing else.
    for name in ("saved", "redacted"):
        alone = work / f"alone-{name}"
        alone.mkdir()
        (result.out / name).rename(alone / name)
        said = sh(decoder, "--modules", "/nowhere", "--format", "{host} {message}", alone / name)
        assert "queue Read" in said and "blog-decode: " not in said, said
    assert "of the kernel log" in (result.out / "saved.err").read_text()


@QEMU
def test_latency(qemu: str, work: Path, programs: dict[str, Path], tap: Tap) -> None:
    """By a clock that counts instructions, so that it doesn't matter how busy this machine is."""
    result = boot(qemu, work, programs, "latency", icount=True)
    tap(result.lines())
    assert not result.problem, result.told()
