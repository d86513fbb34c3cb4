#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Fuzzes the decoder's parsers, guided by coverage: for the suite "fuzz", and as a program.

A target of tools/blog-decode/fuzz first takes all inputs that are kept for it, then new
ones. The corpus is an archive for each target, unpacked in the folder of the suite, beside
what is found: test/fuzz in the cache.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import vm

TOP = vm.TOP
FUZZ = TOP / "tools/blog-decode/fuzz"
PROGRAM = TOP / "target/release/fuzz-blog-decode"
# The rows of its table.
TARGETS = sorted(re.findall(r'^    \("(\w+)", ', (FUZZ / "src/lib.rs").read_text(), re.MULTILINE))

# An input that takes more seconds, or more megabytes, is a finding. (The limit for the heap
# depends on the input, and is far lower: see src/lib.rs.)
LIMITS = ["-timeout=60", "-rss_limit_mb=1024"]


def build() -> None:
    """With libFuzzer as LLVM's package has it; if there is none, the crate libfuzzer-sys
    compiles its own."""
    env = dict(os.environ)
    for llvm in sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*/lib/linux")):
        library = llvm / f"libclang_rt.fuzzer-{platform.machine()}.a"
        if library.exists():
            env["CUSTOM_LIBFUZZER_PATH"] = str(library)
    subprocess.run([TOP / "scripts/build-decode", "--fuzz"], check=True, env=env)


class Target:
    """A target, and its folder: kept inputs, inputs that the target builds, findings."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.archive = FUZZ / f"corpus/{name}.tar.gz"
        self.kept, self.built, self.found = (folder / what for what in ("kept", "built", "found"))
        for fresh in (self.kept, self.built):
            shutil.rmtree(fresh, ignore_errors=True)
        for needed in (self.kept, self.built, self.found):
            needed.mkdir(parents=True, exist_ok=True)
        if self.archive.exists():
            with tarfile.open(self.archive) as archive:
                for entry in archive:
                    if data := archive.extractfile(entry):
                        (self.kept / Path(entry.name).name).write_bytes(data.read())

    def pack(self) -> None:
        """Its folder is its corpus now; the same inputs give the same archive."""
        out = io.BytesIO()
        inputs = {}
        for path in self.kept.iterdir():
            data = path.read_bytes()
            inputs[hashlib.sha1(data, usedforsecurity=False).hexdigest()] = data
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, data in sorted(inputs.items()):
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        self.archive.write_bytes(gzip.compress(out.getvalue(), mtime=0))
        print(f"{self.name}: {len(inputs)} inputs, {sum(map(len, inputs.values()))} bytes")

    def run(self, *args: str | Path) -> subprocess.CompletedProcess[str]:
        """The target with options and folders of libFuzzer's."""
        words = [*LIMITS, f"-artifact_prefix={self.folder}/", *args]
        dictionary = FUZZ / "dictionaries" / self.name
        if dictionary.exists():
            words.insert(0, f"-dict={dictionary}")
        env = {"BLOG_FUZZ_TARGET": self.name, "BLOG_FUZZ_SEEDS": str(self.built)}
        return subprocess.run(
            [PROGRAM, *words], env=os.environ | env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", check=False)  # fmt: skip

    def fuzz(self, seconds: int) -> subprocess.CompletedProcess[str]:
        """All inputs, and new ones for some seconds."""
        limit = f"-max_total_time={seconds}" if seconds else "-runs=0"
        return self.run(
            limit, "-max_len=65536", "-print_final_stats=1",
            self.found, self.kept, self.built)  # fmt: skip

    def merge(self) -> None:
        """A new corpus: as few inputs as reach the same code, the smallest 50 KB of them."""
        self.run("-runs=0", self.built)
        new = self.folder / "new"
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(self.built, new)
        merged = self.run(
            "-max_len=4096", "-set_cover_merge=1", "-use_counters=0", new, self.kept, self.found
        )
        if merged.returncode:
            sys.exit(merged.stdout)
        shutil.rmtree(self.kept)
        self.kept.mkdir()
        total = 0
        # What is built is there anyway.
        inputs = [path for path in new.iterdir() if not path.name.startswith("built-")]
        for path in sorted(inputs, key=lambda path: (path.stat().st_size, path.name)):
            total += path.stat().st_size
            if total <= 50000:
                path.rename(self.kept / path.name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    does = parser.add_mutually_exclusive_group(required=True)
    does.add_argument("--input", type=Path, help="run one input, to see its failure")
    does.add_argument("--add", type=Path, help="adds one input to the corpus, after a finding")
    does.add_argument(
        "--keep",
        action="store_true",
        help="adds inputs that runs of the suite have found, if they reach new code",
    )
    parser.add_argument("target", choices=TARGETS)
    args = parser.parse_args()
    target = Target(args.target, vm.places()[2] / f"test/fuzz/new-{args.target}")
    if args.add:
        shutil.copy(args.add, target.kept)
        target.pack()
        return 0
    build()
    if args.keep:
        target.merge()
        target.pack()
        return 0
    done = target.run(args.input)
    print(done.stdout)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
