# SPDX-License-Identifier: GPL-2.0
"""Measures what a record costs, beside peers.

setups; without a name, the first three:
  native        UML with one CPU: times, beside the peers
  counted       x86 in QEMU, counting instructions: the same, bytes, and fio
  reading       UML with one CPU: how fast snapshots and streams are read, beside ftrace's buffer,
                and what that costs those who log. With flavour=x86 icount=yes it counts
                instructions
  instructions  as counted, without fio: exact, and the same on any machine. With
                build=DIR, of any x86 build with BLog: after a change of the fast path, build
                rust/ and blog/ there, then this.
  arm64         the same on that architecture
  core          the same of the core of BLog alone
  decode        how fast decoders are: blog-decode, trace-cmd and babeltrace2; boots no kernel
  docs          measures nothing: puts tables and plots into the pages

A setup builds its modules, boots its kernel, and leaves its samples in build/bench/SETUP/out.
Then tables, plots and results.json of all samples are written to build/bench. The machine
should be idle otherwise; the report warns if it was not. Exit status 1: a bound is missed.
NAME=VALUE changes a parameter of the named setups: rounds, n, fio, ... (see SETUPS in the
source).
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import vm

from bench import bounds, decode, sites, tables, traffic
from bench.samples import Run

TOP = vm.TOP
BENCH = TOP / "tests/bench"
GUEST = TOP / "tests/guest/bench"
MODULE = BENCH.parent / "modules/bench"
MODEL = BENCH / "model"
OUT = TOP / "build/bench"

COMMON = {
    "icount": "no", "clock": "", "turn_rounds": "20", "secs": "600", "fio": "no",
    "fio_bytes": "1g", "fio_warm_up": "64m", "mem": "1024", "args": ""}  # fmt: skip
COUNTED = COMMON | {
    "flavour": "x86", "rounds": "3", "n": "4000", "icount": "yes",
    "clock": "counter", "args": "tsc=reliable"}  # fmt: skip
SETUPS = {
    "native": COMMON | {"flavour": "uml-bench", "rounds": "100", "n": "2000"},
    "counted": COUNTED | {"fio": "yes", "secs": "3600"},
    "reading": COMMON | {
        "flavour": "uml-bench", "rounds": "9", "records": "1000000", "size_kb": "98304",
        "rounds_each": "100", "n": "2000"},
    "instructions": COUNTED | {"mem": "512", "build": ""},
    "arm64": COUNTED | {"flavour": "arm64", "mem": "512", "args": ""},
    "core": COUNTED | {"flavour": "x86-core", "mem": "512", "clock": ""},
    # Without hooks
    "stock": COUNTED | {"flavour": "stock", "build": ""},
}  # fmt: skip
ALL = ("native", "counted", "reading")


class Failed(Exception):
    """Something that must work did not."""


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    print(f"  > {name} ...", flush=True)
    start = time.monotonic()
    yield
    print(f"  + {name}: {time.monotonic() - start:.1f} s", flush=True)


def call(*command: str | Path, given: str = "", cwd: Path = TOP) -> str:
    """Runs it; what it has said."""
    done = subprocess.run(
        command, input=given, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False)  # fmt: skip
    if done.returncode:
        said = "\n".join(done.stdout.splitlines()[-25:])
        raise Failed(f"{' '.join(map(str, command))}: status {done.returncode}\n{said}")
    return done.stdout


# --- modules ------------------------------------------------------------------------


def make(kernel: vm.Kernel, source: Path, *more: str) -> None:
    """Builds the modules of a folder against a kernel that is built."""
    arch = "um" if kernel.uml else kernel.other.name if kernel.other else "x86_64"
    jobs = os.environ.get("BLOG_JOBS") or str(os.cpu_count())
    call(
        "make", "-C", kernel.build, f"ARCH={arch}", "LLVM=1", f"-j{jobs}", f"M={source}",
        *more, "modules")  # fmt: skip


def bench_module(kernel: vm.Kernel, work: Path) -> Path:
    """The module that measures."""
    (work / "module").mkdir(parents=True, exist_ok=True)
    if kernel.flavour == "stock":
        for path in (kernel.build / "drivers/bench").glob("blog_bench.[bk]*"):
            shutil.copy(path, work / "module")
        return work / "module/blog_bench.ko"
    make(kernel, MODULE, f"MO={work}/module")
    return work / "module/blog_bench.ko"


def site_bytes(kernel: vm.Kernel, work: Path) -> None:
    """Leaves in sites.json what a call site takes."""
    shutil.rmtree(work / "sites", ignore_errors=True)
    sites.generate(work / "sites/source")
    (work / "sites/built").mkdir()
    make(kernel, work / "sites/source", f"MO={work}/sites/built")
    (work / "sites.json").write_text(json.dumps(sites.measure(work / "sites/built"), indent=1))


def rnull_module(kernel: vm.Kernel, work: Path, kind: str) -> Path:
    """rnull by itself, see rnull/Kbuild."""
    work = work / f"rnull-{kind}"
    shutil.rmtree(work, ignore_errors=True)
    source, built = work / "source", work / "out"
    shutil.copytree(BENCH / "rnull", source)
    built.mkdir()
    script = ". scripts/lib/lib.sh; kernel_pristine"
    pristine = Path(call("bash", "-c", script).strip()) / "drivers/block/rnull"
    for name in ("rnull.rs", "configfs.rs"):
        shutil.copy(pristine / name, source)
    if kind == "blog":
        # What it changes in the kernel crate, the kernel has.
        text = (TOP / "patches/rnull-blog.patch").read_text()
        ours = re.split(r"^diff .* a/rust/", text, maxsplit=1, flags=re.MULTILINE)[0]
        call("patch", "-d", source, "--no-backup-if-mismatch", "-p4", given=ours)
    make(kernel, source, f"MO={built}", f"KIND={kind}")
    return built / f"rnull_{kind}.ko"


# --- one setup --------------------------------------------------------------------------


def host_facts(qemu: bool = False) -> str:
    """What a run's facts have beside those of the guest."""
    found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    cpu = found[1] if found else "?"
    if qemu:
        version = re.search(r"version ([0-9.]*)", call(vm.qemu(), "--version"))
        cpu = f"QEMU {version[1] if version else '?'} on {cpu}"
    commit = call("git", "describe", "--always", "--dirty=+", "--exclude=*").strip()
    return f"cpu {cpu}\ncommit {commit}\n"


def by_others() -> int:
    """Hundredths of a second of CPU time that all processes but this one have used, with those
    that they have waited for. Some end meanwhile."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if stat.parent.name != str(os.getpid()):
                total += sum(map(int, stat.read_text().rpartition(")")[2].split()[11:15]))
    return total


def kernel_of(param: dict[str, str]) -> vm.Kernel:
    if build := param.get("build"):
        return vm.Kernel(param["flavour"], Path(build).absolute())
    return vm.kernel(param["flavour"])


def run(setup: str, param: dict[str, str], work: Path) -> None:
    """Runs one setup: its raw results are in work/out then."""
    kernel = kernel_of(param)
    shutil.rmtree(work / "out", ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    with step("module of the benchmark"):
        extra = [bench_module(kernel, work)]
    files: dict[str, Path] = {}
    programs: dict[str, Path] = {}
    if param["fio"] == "yes":
        with step("rnull, with BLog and without"):
            extra += [rnull_module(kernel, work, kind) for kind in ("plain", "blog")]
        programs["bin/fio"] = Path(call(TOP / "scripts/fetch", "fio").splitlines()[-1]) / "fio"
    if setup == "reading":
        programs["bin/reading"] = work / "reading"
        call("cc", "-O2", "-static", "-o", work / "reading", GUEST / "reading.c")
    elif param["icount"] == "yes" and setup not in ("core", "stock"):
        with step("call sites"):
            site_bytes(kernel, work)
    if param["fio"] == "yes":
        # What the kernel has installed, and these modules beside it
        root, release = work / "root", kernel.modules.name
        shutil.rmtree(root, ignore_errors=True)
        ignore = shutil.ignore_patterns("build", "source")
        shutil.copytree(kernel.modules, root / "lib/modules" / release, ignore=ignore)
        (root / "lib/modules" / release / "updates").mkdir()
        for module in extra:
            shutil.copy(module, root / "lib/modules" / release / "updates")
        call("depmod", "-b", root, release)
        files["lib/modules"] = root / "lib/modules"
    else:
        if kernel.option("BLOG") == "m":
            # What it needs of the kernel's modules comes first.
            extra += [
                *kernel.modules.rglob("zlib_deflate.ko"),
                kernel.build / "kernel/blog/blog.ko",
            ]
        files |= {path.name: path for path in extra}
        if kernel.flavour == "stock":
            files |= kernel.files()  # the disk's driver is among its modules

    words = {"setup": setup, **param}
    (work / "params").write_text("".join(f"{name}='{value}'\n" for name, value in words.items()))
    files["bench/params"] = work / "params"
    for path in (*GUEST.glob("*.sh"), *GUEST.glob("*.fio")):
        files[f"bench/{path.name}"] = path
    machine = vm.Machine(
        cpus=1, mem=int(param["mem"]), args=param["args"], icount=param["icount"] == "yes")  # fmt: skip
    # A guest stays on one CPU: else a system call in UML wakes another one, or not.
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    start, others = time.monotonic(), by_others()
    script = GUEST / ("reading.sh" if setup == "reading" else "peers.sh")
    result = vm.run(
        work, kernel, script, files=files, programs=programs,
        machine=machine, seconds=float(param["secs"]),
        warn=setup not in ("instructions", "arm64", "core"),
        echo=lambda line: print(f"    {line}", flush=True))  # fmt: skip
    took, others = time.monotonic() - start, by_others() - others
    os.sched_setaffinity(0, cpus)
    if result.problem:
        raise Failed(result.told())
    # What else this machine did meanwhile, in percent of one CPU
    others = int(others / took)
    with (result.out / "facts").open("a") as facts:
        facts.write(f"{host_facts(qemu=not kernel.uml)}others {others}\n")
    print(f"  + {setup}: {took:.1f} s; others used {others} % of a CPU meanwhile", flush=True)


# --- report -------------------------------------------------------------------------------


def decoder() -> Path:
    call(TOP / "scripts/build-decode")
    return TOP / "target/release/blog-decode"


def report(folders: list[Path]) -> tuple[list[Run], bounds.Bounds]:
    """The runs, and what became of their bounds."""
    runs, found = [], bounds.Bounds()
    for folder in folders:
        one = Run(folder)
        one.traffic = traffic.read(one, decoder())
        bounds.check_run(found, one)
        runs.append(one)
    return runs, found


def show(folder: Path) -> bool:
    """Prints and keeps tables of costs, bytes and call sites, and prints the bounds; True if one is
    missed."""
    runs, found = report([folder])
    for one in runs:
        texts = {
            "costs": tables.costs(one),
            "bytes": tables.bytes_table(one),
            "sites": tables.sites_table(one),
        }
        for name, text in texts.items():
            if text:
                (OUT / f"{name}-{one.setup}.txt").write_text(text)
                print(text)
    print(tables.verdicts(found.verdicts))
    return bool(found.missed)


def write() -> bool:
    """Tables, plots and results.json of all that was measured; True if a bound is missed."""
    with step("model of cache lines"):
        said = call("cargo", "run", "--quiet", "--release", "--locked", cwd=MODEL)
    (OUT / "model").mkdir(parents=True, exist_ok=True)
    (OUT / "model/facts").write_text(host_facts())
    (OUT / "model/table").write_text(said)
    folders = [OUT / setup / "out" for setup in ALL]
    runs, found = report([folder for folder in folders if (folder / "results").exists()])
    tables.write(OUT, runs, found)
    print(f"In {OUT}: results.json, a text file for each table, cost-*.svg")
    return bool(found.missed)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("words", nargs="*", metavar="SETUP|NAME=VALUE")
    words = parser.parse_args().words
    setups = [word for word in words if "=" not in word] or list(ALL)
    if setups == ["docs"]:
        for folder in ("Documentation/blog", "docs"):
            tables.into_pages(OUT, TOP / folder)
        return 0
    if setups == ["decode"]:
        return int(decode.measure(OUT / "decode", decoder()))
    for setup in setups:
        if setup not in SETUPS:
            parser.error(f"no such setup: {setup}")
        for name, _, value in (word.partition("=") for word in words if "=" in word):
            if name not in SETUPS[setup]:
                parser.error(f"{setup} has no {name}; it has {', '.join(SETUPS[setup])}")
            SETUPS[setup][name] = value
    flavours = {SETUPS[setup]["flavour"] for setup in setups if not SETUPS[setup].get("build")}
    if flavours:
        subprocess.run([TOP / "scripts/build-kernel", *sorted(flavours)], check=True)
    bad = False
    for setup in setups:
        print(f"Setup {setup}", flush=True)
        try:
            run(setup, SETUPS[setup], OUT / setup)
            if setup in ("instructions", "arm64", "core", "stock"):
                bad |= show(OUT / setup / "out")
        except Failed as why:
            print(f"{setup} has failed: {why}", file=sys.stderr)
            bad = True
    if set(setups) & set(ALL):
        bad |= write()
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
