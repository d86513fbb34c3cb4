# SPDX-License-Identifier: GPL-2.0
"""Damages a real dump in many ways, and checks that blog-decode copes.

Whatever is wrong with the file, the extractor neither dies nor hangs, stays within its
memory, and reports missing records: status 0 means that all is there, 1 that
something is missing (and stderr says what), 2 that nothing can be had (and why). What
it does print of a dump that was only cut, or has pages of zeros, was in the whole one.
"""

import random
import re
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from crash.check import Tools, Wrong

PAGE = 4096
# Address space; the library maps nothing, and reads page by page.
MOST = 512 << 20
SECONDS = 120
# So many cases have an effect, wherever the dump has what.
ENOUGH = 100
# In the dump's memory: where BLog's root, components, memories and records are.
MARKS = re.compile(rb"BLOGROOT|OCLB|BLCO|EMLB|BLME|works.{0,8}abcdef", re.DOTALL)
# The extractor's last line.
COUNT = r"(\d+) records"
SUMMARY = r"(?m)^.*: \d+ components, .* \d+ records$"


@dataclass
class Damage:
    tools: Tools
    work: Path
    # What the whole dump has: texts, and how many the extractor counts.
    whole: set[str] = field(default_factory=set)
    total: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    fewer: int = 0

    def limited(self, *args: object) -> subprocess.CompletedProcess[str]:
        command = ["prlimit", f"--as={MOST}", "--core=0", str(self.tools.decode), *map(str, args)]
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
        )

    def records(self, snapshot: Path, case: str) -> set[str]:
        done = self.limited("--sidetable", self.tools.tables, snapshot)
        if done.returncode not in (0, 1):
            raise Wrong(f"{case}: decoding: status {done.returncode}: {done.stderr[-500:]}")
        return set(re.findall(r" (w=\d+ s=\d+ .*)", done.stdout))

    def extract(self, dump: Path, case: str, exact: bool) -> None:
        """One damaged dump. `exact`: what is there must be what was there."""
        snapshot = self.work / "damaged.snap"
        snapshot.unlink(missing_ok=True)
        try:
            done = self.limited("convert", "--to", "snapshot", dump, "-o", snapshot)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{case}: no end in {SECONDS} s") from None
        status = done.returncode
        if status not in (0, 1, 2):
            raise Wrong(f"{case}: status {status}: {done.stderr[-500:]}")
        self.counts[status] = self.counts.get(status, 0) + 1
        said = done.stdout + done.stderr
        total = re.search(COUNT, said)
        if status and not re.sub(SUMMARY, "", said).strip():
            raise Wrong(f"{case}: status {status} without a word")
        if status == 2:
            return
        if not total or status == 0 and int(total[1]) < self.total:
            raise Wrong(f"{case}: less than in the whole dump, and not a word: {said}")
        records = self.records(snapshot, case)
        if exact and (new := records - self.whole):
            raise Wrong(f"{case}: {len(new)} records that were never there: {min(new)}")
        self.fewer += bool(self.whole - records)


def shift(data: bytes) -> int:
    """Where in 4 KiB of the file a page of memory starts, if it is ELF."""
    if data[:4] != b"\x7fELF":
        return 0
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(table, table + size * count, size):
        kind, _, offset = struct.unpack_from("<IIQ", data, at)
        if kind == 1:
            return int(offset) % PAGE
    return 0


def regions(data: bytes, base: int) -> list[int]:
    """Where pages are that have something of BLog."""
    found = {(m.start() - base) // PAGE * PAGE + base for m in MARKS.finditer(data, base)}
    return sorted(at for at in found if at + PAGE <= len(data))


def run(tools: Tools, dump: Path, work: Path, cases: int, seed: int) -> str:
    """Damages `dump` (which is changed, and cut in the end); says what came out."""
    damage = Damage(tools, work)
    snapshot = work / "whole.snap"
    snapshot.unlink(missing_ok=True)
    done = damage.limited("convert", "--to", "snapshot", dump, "-o", snapshot)
    found = re.search(COUNT, done.stdout + done.stderr)
    if done.returncode or not found:
        raise Wrong(f"the whole dump: status {done.returncode}: {done.stderr}")
    damage.total = int(found[1])
    damage.whole = damage.records(snapshot, "the whole dump")
    data = dump.read_bytes()
    base = shift(data)
    blocks = regions(data, base)
    # A compressed dump doesn't show what is where.
    plain = len(blocks) > 8
    if not plain:
        blocks = list(range(0, len(data), PAGE))
    with dump.open("r+b", buffering=0) as file:
        for case in range(cases * 3 // 4):
            chance = random.Random(seed * 1000003 + case)
            kind = chance.choice(("zero", "flip", "flip", "header"))
            changed = []
            for _ in range(chance.randint(1, 4)):
                if kind == "header":
                    start, size = chance.randrange(0, min(2 * PAGE, len(data) - 1)), 1
                elif chance.random() < 0.9:
                    start, size = chance.choice(blocks), PAGE
                else:
                    start, size = base + chance.randrange(len(data) // PAGE - 1) * PAGE, PAGE
                new = bytearray(size)
                if kind != "zero":
                    new[:] = data[start : start + size]
                    # Where there is something, more happens.
                    used = [i for i, b in enumerate(new) if b] or range(len(new))
                    new[chance.choice(used)] ^= 1 << chance.randrange(8)
                changed.append((start, len(new)))
                file.seek(start)
                file.write(new)
            damage.extract(dump, f"case {case} ({kind} at {changed})", kind == "zero" and plain)
            for start, size in changed:
                file.seek(start)
                file.write(data[start : start + size])
    chance = random.Random(seed)
    cuts = sorted(
        (chance.randrange(0, len(data)) for _ in range(cases - cases * 3 // 4)), reverse=True
    )
    for cut in cuts:
        with dump.open("r+b") as file:
            file.truncate(cut)
        damage.extract(dump, f"cut at {cut}", plain)
    whole, partial, none = (damage.counts.get(status, 0) for status in (0, 1, 2))
    # Few cases may all miss what BLog has: where, depends on the dump.
    if cases >= ENOUGH and (not partial or not none):
        raise Wrong(f"{whole} whole, {partial} partial, {none} refused: damage without effect")
    return (
        f"{cases} damaged ones: {whole} whole, {partial} in part, {none} refused;"
        f" {damage.fewer} with records missing"
    )
