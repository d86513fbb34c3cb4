# SPDX-License-Identifier: GPL-2.0
"""Who may open which file, in tracefs and debugfs, and in a locked-down kernel; and kernel addresses
in files, where kptr_restrict or lockdown hides them."""

import re
from pathlib import Path

import pytest
import selftests
import vm
from conftest import TOP, Run, Tap, for_guest

pytestmark = pytest.mark.kernels("uml")

ADDRESSES = re.compile(r"0x[0-9a-f]{8,} 0x[0-9a-f]{8,}")
# What selftests leave: with addresses, and without
CAPTURES = {
    "addresses": (["all", "all.stream", "one", "before"], ["two", "two.stream"]),
    "rights": (["all"], ["two"]),
}
# What has addresses for all who open it.
MAPPED = re.compile(r"/map$")


def left(result: vm.Result) -> Path:
    """The files that a guest has left."""
    assert not result.problem, result.told()
    return result.out


class Files:
    """Files of a guest, and the decoder's output for them."""

    def __init__(self, folder: Path, decoder: Path, sh: Run, open_one: str) -> None:
        self.folder, self.sh, self.open_one = folder, sh, open_one
        tables = vm.kernel("uml").build / "vmlinux"
        self.decode = [decoder, "--sidetable", tables, "--modules", "/nowhere",
                       "--component", "rust_blog", "--format", "{message}"]  # fmt: skip

    def text(self, name: str) -> tuple[list[str], str]:
        """Its records, and the decoder's whole output, errors included."""
        said = self.sh(*self.decode, self.folder / name, status=(0, 1))
        return [x for x in said.splitlines() if not x.startswith("blog-decode: ")], said

    def shows(self, name: str) -> bool:
        """It has the sample's addresses."""
        return any(ADDRESSES.fullmatch(line) for line in self.text(name)[0])

    def addresses(self) -> list[str]:
        """The addresses of the sample."""
        lines = [line for line in self.text(self.open_one)[0] if ADDRESSES.fullmatch(line)]
        found = " ".join(lines).split()
        assert found
        return found

    def has_no_address(self, *names: str) -> None:
        """The sample's addresses are in none of the files, in no form; one shows them all."""
        for address in self.addresses():
            raw = int(address, 16).to_bytes(8, "little")
            assert raw in (self.folder / self.open_one).read_bytes()
            for name in names:
                data = (self.folder / name).read_bytes()
                assert raw not in data and address[2:].encode() not in data, (name, address)

    def hides(self, name: str) -> None:
        """It has that record without them, and all other records."""
        lines, said = self.text(name)
        assert sum(line.endswith("withheld>") for line in lines) == 1
        assert (
            "blog-decode: 1 records not decoded: the reader of the file had no permission" in said
        )
        self.has_no_address(name)
        other = [line for line in self.text(self.open_one)[0] if not ADDRESSES.match(line)]
        assert [line for line in lines if not line.endswith("withheld>")] == other

    def opened(self, name: str, level: str, **can: list[str]) -> None:
        """At this level, these could be opened: by place and way; none of the others."""
        folder = self.folder / name
        assert (folder / "level").read_text() == f"{level}\n"
        for way in ("tracing.read", "tracing.write", "debug.read", "debug.write"):
            opened = (folder / way).read_text().split()
            assert opened == can.get(way.replace(".", "_"), []), (way, opened)

    def every(self) -> list[str]:
        return (self.folder / "files").read_text().split()


@pytest.fixture(scope="module", params=CAPTURES)
def selftest(request: pytest.FixtureRequest, work: Path) -> vm.Result:
    machine = vm.Machine(1, 512)
    return selftests.guest(work / request.param, vm.kernel("uml"), request.param, machine=machine)


def test_selftest(selftest: vm.Result, tap: Tap) -> None:
    """What it finds itself. Below is what blog-decode finds in the files that it leaves."""
    tap(selftest.lines())
    assert not selftest.problem, selftest.told()


def test_addresses_are_withheld(selftest: vm.Result, decoder: Path, sh: Run) -> None:
    """Root sees them with kptr_restrict=0; with 1, a process with CAP_SYSLOG does, and so does one
    that opened a file before they were hidden. Nobody does with 2, nor a member with 1."""
    files = Files(left(selftest), decoder, sh, "all")
    shown, hidden = CAPTURES[selftest.guest.work.name]
    assert [name for name in shown if files.shows(name)] == shown
    for name in hidden:
        files.hides(name)


def locked(work: Path, decoder: Path, sh: Run, level: str) -> Files:
    args = f"lockdown={level}" if level != "none" else ""
    script = TOP / "tests/guest/e2e/lockdown.sh"
    result = vm.run(work / level, vm.kernel("uml"), script, machine=vm.Machine(2, args=args))
    return Files(left(result), decoder, sh, "all")


@pytest.fixture(scope="module")
def raised(work: Path, decoder: Path, sh: Run) -> Files:
    """Locked down step by step."""
    return locked(work, decoder, sh, "none")


def test_a_member_saves_what_it_may_see(work: Path, decoder: Path, sh: Run) -> None:
    """Without the kernel's log, which it may not read. Others save nothing."""
    kernel, programs = vm.kernel("uml"), for_guest(decoder, work / "blog-decode")
    programs |= {"as": selftests.install(work)["selftests/blog"] / "as"}
    result = vm.run(work / "save", kernel, TOP / "tests/guest/e2e/save.sh",
                    files=kernel.files(), programs=programs, machine=vm.Machine(1, 512))  # fmt: skip
    saved = Files(left(result), decoder, sh, "all")
    saved.hides("saved")
    said = (saved.folder / "saved.err").read_text()
    assert "/dev/kmsg: Operation not permitted; the file has no kernel log" in said
    assert "lines of the kernel log" not in said
    assert "permission denied" in (saved.folder / "nobody.err").read_text()
    assert (saved.folder / "nobody").read_text() == "2\n"


def at_integrity(files: Files, name: str) -> None:
    """All files work but those that are mapped: those in debugfs are the same ones."""
    but_maps = [name for name in files.every() if not MAPPED.search(name)]
    ways = ("tracing_read", "tracing_write", "debug_read", "debug_write")
    files.opened(name, "integrity", **dict.fromkeys(ways, but_maps))


def test_no_lockdown(raised: Files) -> None:
    ways = ("tracing_read", "tracing_write", "debug_read", "debug_write")
    raised.opened("boot", "none", **dict.fromkeys(ways, raised.every()))


def test_integrity(raised: Files) -> None:
    at_integrity(raised, "integrity")


# Whatever kptr_restrict says. The last one: who opened a file before it was locked down further
# still reads it.
@pytest.mark.parametrize("name", ("integrity/said/snapshot", "integrity/said/stream", "before"))
def test_integrity_hides(raised: Files, name: str) -> None:
    raised.hides(name)


def test_integrity_has_no_address_in_any_file(raised: Files) -> None:
    names = [
        str(path.relative_to(raised.folder)) for path in raised.folder.glob("integrity/said/*")
    ]
    raised.has_no_address(*names)
    for name in names:
        data = (raised.folder / name).read_bytes()
        assert not re.search(rb"ffff[0-9a-f]{12}", data), name


def test_confidentiality(raised: Files) -> None:
    """No file can be opened."""
    raised.opened("confidentiality", "confidentiality")


def test_integrity_at_boot(work: Path, decoder: Path, sh: Run) -> None:
    at_integrity(locked(work, decoder, sh, "integrity"), "boot")


def test_confidentiality_at_boot(work: Path, decoder: Path, sh: Run) -> None:
    locked(work, decoder, sh, "confidentiality").opened("boot", "confidentiality")
