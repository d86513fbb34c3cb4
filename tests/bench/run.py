# SPDX-License-Identifier: GPL-2.0
"""Measures what a record costs, beside peers.

setups; without a name, "instructions":
  instructions  x86 in QEMU, counting instructions: exact, and the same on any machine. With
                build=DIR, of any x86 build with BLog: after a change of the fast path, build
                rust/ and blog/ there, then this.
  stock         the same in Debian's own kernel
  arm64         the same on that architecture
  core          the same of the core of BLog alone
  native        times in UML with one CPU, on a machine that is otherwise idle
  fio           I/Os a second on rnull, by instructions
  decode        how fast blog-decode is, beside trace-cmd and babeltrace2; boots no kernel
  docs          measures nothing: puts the tables of docs/results.json into the pages

A setup prints its tables. Exit status 1: a bound is missed. With --keep, docs/results.json and the
pages get what was measured. NAME=VALUE changes a parameter of the named setups: rounds, n, build,
... (see SETUPS in the source).
"""

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import vm

from bench import bounds, decode, results, sites, tables
from bench.results import Result

TOP = vm.TOP
BENCH = TOP / "tests/bench"
GUEST = TOP / "tests/guest/bench"
MODULES = TOP / "tests/modules/bench"
OUT = TOP / "build/bench"

COUNTED = {
    "flavour": "x86", "rounds": "3", "n": "4000", "icount": "yes", "clock": "counter",
    "args": "tsc=reliable", "mem": "512", "secs": "600", "build": ""}  # fmt: skip
SETUPS = {
    "instructions": COUNTED,
    "stock": COUNTED | {"flavour": "stock"},
    "arm64": COUNTED | {"flavour": "arm64", "args": ""},
    "core": COUNTED | {"flavour": "x86-core", "clock": ""},
    "native": COUNTED | {
        "flavour": "uml-bench", "rounds": "100", "n": "2000", "icount": "no", "clock": "",
        "args": "", "mem": "1024"},
    "fio": COUNTED | {"mem": "1024", "secs": "3600"},
}  # fmt: skip


def call(*command: str | Path, given: str = "") -> str:
    """Runs it; returns what it printed."""
    done = subprocess.run(
        command, input=given, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False)  # fmt: skip
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-25:])
        raise RuntimeError(f"{' '.join(map(str, command))}: status {done.returncode}\n{last}")
    return done.stdout


def make(kernel: vm.Kernel, source: Path, built: Path, *more: str) -> None:
    """Builds the modules of a folder against a kernel that is built."""
    built.mkdir(parents=True, exist_ok=True)
    arch = "um" if kernel.uml else kernel.other.name if kernel.other else "x86_64"
    jobs = os.environ.get("BLOG_JOBS") or str(os.cpu_count())
    call(
        "make", "-C", kernel.build, f"ARCH={arch}", "LLVM=1", f"-j{jobs}", f"M={source}",
        f"MO={built}", *more, "modules")  # fmt: skip


def bench_module(kernel: vm.Kernel, built: Path) -> Path:
    """The module that measures."""
    if kernel.flavour == "stock":
        built.mkdir(parents=True, exist_ok=True)
        for path in (kernel.build / "drivers/bench").glob("blog_bench.[bk]*"):
            shutil.copy(path, built)
    else:
        make(kernel, MODULES, built)
    return built / "blog_bench.ko"


def rnull_module(kernel: vm.Kernel, work: Path, kind: str) -> Path:
    """rnull by itself, see rnull/Kbuild."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(BENCH / "rnull", work / "source")
    script = ". scripts/lib/lib.sh; kernel_pristine"
    pristine = Path(call("bash", "-c", script).strip()) / "drivers/block/rnull"
    for name in ("rnull.rs", "configfs.rs"):
        shutil.copy(pristine / name, work / "source")
    if kind == "blog":
        for patch in ("rnull-blog", "rnull-blog-more"):
            # What it changes in the kernel crate, the kernel has.
            text = (TOP / f"patches/{patch}.patch").read_text()
            ours = re.split(r"^diff .* a/rust/", text, maxsplit=1, flags=re.MULTILINE)[0]
            call("patch", "-d", work / "source", "--no-backup-if-mismatch", "-p4", given=ours)
    make(kernel, work / "source", work / "out", f"KIND={kind}")
    return work / f"out/rnull_{kind}.ko"


def facts(qemu: bool = False) -> Result:
    """When, where and of which commit something is measured."""
    found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    cpu = found[1] if found else "?"
    if qemu:
        version = re.search(r"version ([0-9.]*)", call(vm.qemu(), "--version"))
        cpu = f"QEMU {version[1] if version else '?'} on {cpu}"
    commit = call("git", "describe", "--always", "--dirty=+", "--exclude=*").strip()
    date = datetime.datetime.now(datetime.UTC).date()
    return {"date": str(date), "cpu": cpu, "commit": commit, "load": os.getloadavg()[0]}


def run(setup: str, param: dict[str, str], work: Path) -> Result:
    """Runs one setup in a guest; returns what was measured."""
    build, flavour = param["build"], param["flavour"]
    kernel = vm.Kernel(flavour, Path(build).absolute()) if build else vm.kernel(flavour)
    shutil.rmtree(work, ignore_errors=True)
    programs: dict[str, Path] = {}
    measured = facts(qemu=not kernel.uml)
    if setup == "fio":
        modules = [rnull_module(kernel, work / kind, kind) for kind in ("plain", "blog")]
        programs["bin/fio"] = Path(call(TOP / "scripts/fetch", "fio").splitlines()[-1]) / "fio"
    else:
        modules = [bench_module(kernel, work / "module")]
    if kernel.option("BLOG") == "m":
        # What it needs of the kernel's modules comes first.
        for name in ("zlib_deflate", "blog"):
            modules += kernel.modules.rglob(f"{name}.ko")
    files = {path.name: path for path in modules}
    if kernel.flavour == "stock" or setup == "fio":
        files |= kernel.files()
    if setup in ("instructions", "arm64"):
        sites.generate(work / "sites/source")
        make(kernel, work / "sites/source", work / "sites/built")
        measured["sites"] = sites.measure(work / "sites/built")
    words = "".join(f"{name}='{value}'\n" for name, value in param.items())
    (work / "params").write_text(words)
    files["params"] = work / "params"
    machine = vm.Machine(
        cpus=1, mem=int(param["mem"]), args=param["args"], icount=param["icount"] == "yes")  # fmt: skip
    # A guest stays on one CPU: else a system call in UML wakes another one, or not.
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    result = vm.run(
        work, kernel, GUEST / ("fio.sh" if setup == "fio" else "costs.sh"), files=files,
        programs=programs, machine=machine, seconds=float(param["secs"]),
        warn=setup in ("stock", "native", "fio"),
        echo=lambda line: print(f"    {line}", flush=True))  # fmt: skip
    os.sched_setaffinity(0, cpus)
    if result.problem:
        raise RuntimeError(result.told())
    if param["icount"] == "yes":
        measured["load"] = 0
    if setup == "fio":
        measured["kernel"] = (result.out / "facts").read_text().split()[1]
        return measured | {"fio": results.fio(result.out)}
    unit = "instructions" if param["icount"] == "yes" else "ns"
    measured |= results.read(result.out, unit)
    if (result.out / "bytes").exists():
        measured["bytes"] = results.record_bytes(result.out / "bytes", decoder(), work / "module")
    return measured


def decoder() -> Path:
    call(TOP / "scripts/build-decode")
    return TOP / "target/release/blog-decode"


def keep(name: str, result: Result) -> None:
    kept = json.loads(tables.KEPT.read_text()) | {name: result}
    tables.KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    tables.write()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("words", nargs="*", metavar="SETUP|NAME=VALUE")
    parser.add_argument("--keep", action="store_true", help="put the results into the pages")
    options = parser.parse_args()
    setups = [word for word in options.words if "=" not in word] or ["instructions"]
    changes = dict(word.split("=", 1) for word in options.words if "=" in word)
    for setup in setups:
        if setup not in (*SETUPS, "decode", "docs"):
            parser.error(f"no such setup: {setup}")
        if unknown := changes.keys() - SETUPS.get(setup, {}).keys():
            parser.error(f"{setup} has no {', '.join(unknown)}")
    missed = False
    for setup in setups:
        if setup == "docs":
            tables.write()
            continue
        if setup == "decode":
            result = facts() | {"decode": decode.measure(OUT / setup, decoder())}
        else:
            result = run(setup, SETUPS[setup] | changes, OUT / setup)
        print(tables.show(setup, result))
        found = bounds.verdicts(setup, result)
        missed |= any(verdict.state == bounds.MISSED for verdict in found)
        if options.keep:
            keep(setup, result)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
