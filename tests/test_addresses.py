# SPDX-License-Identifier: GPL-2.0
"""Kernel addresses in files, where kptr_restrict hides them; and who may open which file in a
locked-down kernel."""

import re
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run

OPEN, LOCKED = "uml", "x86-y"  # the second one can be locked down
KERNELS = "uml x86-y"
TESTS = 17
SECONDS = 90

ADDRESSES = re.compile(r"0x[0-9a-f]{8,} 0x[0-9a-f]{8,}")
# Read-only files; debugfs refuses the others from integrity on.
READABLE = re.compile(r"(^|/)(components|stats|snapshot|stream)$")


def boot(work: Path, name: str, script: str, machine: vm.Machine) -> Path:
    """The files that a guest leaves."""
    kernel, path = vm.kernel(OPEN if script == "addresses" else LOCKED), TOP / "tests/e2e/guest"
    result = vm.run(work / name, kernel, path / f"{script}.sh", machine=machine)
    assert not result.problem, result.told()
    return result.out


class Files:
    """Files of a guest, and the decoder's output for them."""

    def __init__(self, folder: Path, flavour: str, decoder: Path, sh: Run, open_one: str) -> None:
        self.folder, self.sh, self.open_one = folder, sh, open_one
        tables = vm.kernel(flavour).build / "vmlinux"
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
        assert "blog-decode: 1 records not decoded: they have addresses" in said
        self.has_no_address(name)
        other = [line for line in self.text(self.open_one)[0] if not ADDRESSES.match(line)]
        assert [line for line in lines if not line.endswith("withheld>")] == other

    def opened(self, name: str, level: str, read: list[str], written: list[str]) -> None:
        """At this level, so many could be opened to read and to write."""
        folder = self.folder / name
        assert (folder / "level").read_text() == f"{level}\n"
        assert (folder / "read").read_text().split() == read
        assert (folder / "write").read_text().split() == written

    def every(self) -> list[str]:
        return (self.folder / "files").read_text().split()

    def readable(self) -> list[str]:
        return [name for name in self.every() if READABLE.search(name)]


@pytest.fixture(scope="module")
def restricted(work: Path, decoder: Path, sh: Run) -> Files:
    folder = boot(work, "kptr", "addresses", vm.Machine(1, 512))
    return Files(folder, OPEN, decoder, sh, "all")


def locked(work: Path, decoder: Path, sh: Run, level: str) -> Files:
    args = f"lockdown={level}" if level != "none" else ""
    folder = boot(work, level, "lockdown", vm.Machine(2, args=args))
    return Files(folder, LOCKED, decoder, sh, "shown/snapshot")


@pytest.fixture(scope="module")
def integrity(work: Path, decoder: Path, sh: Run) -> Files:
    return locked(work, decoder, sh, "integrity")


# kptr_restrict=0: root sees addresses; =1: who has CAP_SYSLOG does, and so does who opened a
# file before they were hidden.
@pytest.mark.parametrize("name", ("all", "all.stream", "one", "before"))
def test_kptr_restrict_shows(restricted: Files, name: str) -> None:
    assert restricted.shows(name)


# kptr_restrict=2: nobody does.
@pytest.mark.parametrize("name", ("two", "two.stream"))
def test_kptr_restrict_hides(restricted: Files, name: str) -> None:
    restricted.hides(name)


def test_no_lockdown(work: Path, decoder: Path, sh: Run) -> None:
    """All files can be opened."""
    files = locked(work, decoder, sh, "none")
    files.opened("shown", "none", files.every(), files.every())


@pytest.mark.parametrize("name", ("shown", "hidden"))
def test_integrity(integrity: Files, name: str) -> None:
    """Files that are only read can be read, none written; whatever kptr_restrict says."""
    integrity.opened(name, "integrity", integrity.readable(), [])


@pytest.mark.parametrize("name", ("shown/snapshot", "shown/stream"))
def test_integrity_shows(integrity: Files, name: str) -> None:
    assert integrity.shows(name)


# The last one: who opened a file before it was locked down further still reads it.
@pytest.mark.parametrize("name", ("hidden/snapshot", "hidden/stream", "raised/before"))
def test_integrity_hides(integrity: Files, name: str) -> None:
    integrity.hides(name)


def test_integrity_has_no_address_in_any_file(integrity: Files) -> None:
    names = [str(path.relative_to(integrity.folder)) for path in integrity.folder.glob("hidden/*")]
    integrity.has_no_address(*names)
    for name in names:
        data = (integrity.folder / name).read_bytes()
        assert not re.search(rb"ffff[0-9a-f]{12}", data), name


def test_locked_down_later(integrity: Files) -> None:
    """To confidentiality: no file can be opened."""
    integrity.opened("raised", "confidentiality", [], [])


def test_confidentiality(work: Path, decoder: Path, sh: Run) -> None:
    files = locked(work, decoder, sh, "confidentiality")
    files.opened("shown", "confidentiality", [], [])
