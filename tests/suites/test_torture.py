# SPDX-License-Identifier: GPL-2.0
"""The torture module in all contexts of QEMU, of UML and of arm64, whose CPUs run in parallel; every
record is accounted for.

A run boots a kernel with one script of tests/guest/torture. The verifier compares the rings with
the module's list of what each writer logged. The module's own counters must show that the run did
its work. The deep tier also has long runs: 64 CPUs, 10,000 tasks, CPU hotplug, NMIs, kprobes, 100
million records.
"""

import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import vm
from conftest import TOP, built
from conftest import Run as Sh

QEMU, UML, STOCK, ARM64, RISCV64 = "x86", "uml", "stock", "arm64", "riscv64"
DEBUG, PARALLEL, KCSAN, LTO = "x86-debug", "x86-parallel", "x86-kcsan", "x86-lto"
HERE = TOP / "tests/guest/torture"
# All that deep runs must log.
RECORDS = 100_000_000

# Contexts that log in each run of all contexts; what else a run is asked for comes on top.
USUAL = "worker storm timer hrtimer"
MOST = f"{USUAL} tasklet irq_work"
EVERYBODY = "reader sampler flipper users"


@dataclass(frozen=True)
class Run:
    """One run. It must have done everything that it is asked for."""

    name: str
    # Of the verifier: there must be records of these kinds of writers.
    kinds: str = ""
    script: str = "run"
    # What the script reads. Each has what is in `defaults`, too.
    params: dict[str, int | str] = field(default_factory=dict)
    # Parameters of blog_torture
    module: dict[str, int] = field(default_factory=dict)
    helpers: str = ""
    nmi_ms: int = 0  # between NMIs to all CPUs
    verify: str = ""  # more of the verifier's options
    kernel: str = QEMU
    cpus: int = 4
    mem: int = 1024
    args: str = ""
    limit: int = 300  # seconds for all
    warn: bool = False  # the kernel may complain
    deep: bool = False

    def __post_init__(self) -> None:
        script = (HERE / f"{self.script}.sh").read_text()
        for key in self.given():
            if not re.search(rf"\${key}\b", script) and key != "max_kb":
                raise ValueError(f"the script {self.script} does not read {key}")

    def given(self) -> dict[str, int | str]:
        """All parameters for the guest."""
        module = " ".join(f"{key}={value}" for key, value in self.module.items())
        words = {"module": module, "helpers": self.helpers}
        return {"max_kb": 0, **self.params, **{key: word for key, word in words.items() if word}}

    def machine(self) -> vm.Machine:
        args = self.args
        if self.kernel not in (UML, ARM64, RISCV64):
            # When emulated CPUs are slow, the watchdog distrusts the TSC, and all that
            # reads a clock from then on waits for the one HPET that QEMU has.
            args += " tsc=reliable"
        if self.nmi_ms:
            args += " apic_extnmi=all"
        return vm.Machine(self.cpus, self.mem, args)

    def wanted(self) -> Iterator[str]:
        """Which of the module's counters must not be 0."""
        if self.module.get("onoff_ms"):
            yield "CPUs down or up"
        if self.module.get("probes"):
            yield "nested calls"
        if self.nmi_ms:
            yield "NMIs in log calls"
        if self.module.get("instances"):
            yield "components dropped"
        if "storm" in self.kinds:
            yield "short-lived tasks"


# The calibration of a small machine. A large one would take minutes for it, or find its
# time stamps too uneven.
LARGE = "lpj=10384000"
# Interrupts of all CPUs together, at about the rate of a small machine.
RATES = {"irq_us": 40000, "ipi_us": 40000}

# On our own kernel, and on Debian's
ON_EACH = [
    Run("hotplug", f"{USUAL} hotplug", params={"seconds": 5}, helpers="reader",
        module={"workers": 1, "onoff_ms": 100}),
    Run("probes", "nested idle dying starting exiting", params={"seconds": 5}, helpers="reader",
        module={"workers": 1, "onoff_ms": 100, "probes": 12}),
    # By a TSC that it trusts, until in the end it doesn't any more.
    Run("sleep", f"{USUAL} hotplug", params={"seconds": 8}, helpers="reader sleeper",
        module={"workers": 1, "unstable_ms": 6000}, args="setcpuid=constant_tsc,nonstop_tsc"),
    Run("history", "history", "history", {"records": 6000, "history_us": 1000},
        verify="--history torture_history=16"),
]  # fmt: skip
SHORT = [
    Run("contexts", f"{MOST} nmi", params={"seconds": 5}, nmi_ms=20, helpers=EVERYBODY,
        module={"workers": 1, "instances": 6}),
    *ON_EACH,
    Run("crowd", "crowd", "crowd", {"crowd": 1000}, verify="--whole torture_crowd"),
    # Debian's own kernel, where tasks find their rings by a hash table.
    Run("stock", f"{MOST} nmi", params={"seconds": 5}, nmi_ms=20, kernel=STOCK, cpus=8, mem=2048,
        helpers=EVERYBODY, module={"workers": 1, "instances": 6}),
    Run("stock-crowd", "crowd", "crowd", {"crowd": 2000}, kernel=STOCK, mem=2048,
        verify="--whole torture_crowd"),
    *(replace(run, name=f"stock-{run.name}", kernel=STOCK, mem=2048) for run in ON_EACH),
    Run("lowmem", "worker", "lowmem", {"seconds": 5}, kernel=UML, cpus=2, mem=128),
    Run("uml", f"{USUAL} tasklet", params={"seconds": 4}, kernel=UML, helpers=EVERYBODY,
        module={"workers": 1, "instances": 6}),
]  # fmt: skip
LONG = [
    Run("smp32", f"{MOST} nmi", params={"seconds": 120}, nmi_ms=50, cpus=32, mem=6144,
        limit=900, args=LARGE, helpers="reader sampler users",
        module={"workers": 1, "instances": 57, "renew_ms": 500, **RATES}),
    Run("smp64", f"{MOST} nmi", params={"seconds": 90}, nmi_ms=100, cpus=64, mem=8192,
        limit=900, args=LARGE, helpers="reader sampler",
        module={"workers": 1, "instances": 57, "renew_ms": 500, **RATES}),
    Run("hotplug-long", "worker timer hrtimer hotplug", params={"seconds": 60},
        helpers="reader sampler", module={"workers": 1, "instances": 8, "onoff_ms": 100}),
    # Also by sysrq, which has its stack traces in the log.
    Run("nmi", "worker nmi", params={"seconds": 60}, nmi_ms=2, helpers="reader sampler sysrq",
        module={"workers": 1, "instances": 8}, warn=True),
    Run("hotplug-probes", "nested dying starting", params={"seconds": 60}, limit=400,
        helpers="reader sampler",
        module={"workers": 1, "instances": 8, "onoff_ms": 100, "probes": 12}),
    Run("probes-long", "nmi nested idle exiting", params={"seconds": 60}, nmi_ms=10, cpus=8,
        mem=2048, limit=400, helpers=EVERYBODY,
        module={"workers": 1, "instances": 16, "probes": 60}),
    Run("crowd-long", "crowd", "crowd", {"crowd": 10000}, mem=2048, limit=600,
        verify="--whole torture_crowd"),
    Run("history-long", "history", "history", {"records": 36000, "history_us": 1000}, limit=600,
        verify="--history torture_history=16"),
    Run("lowmem-long", "worker", "lowmem", {"seconds": 30}, kernel=UML, cpus=2, mem=128,
        limit=200),
    Run("reload", "nested", "reload", {"rounds": 5}, limit=600,
        module={"workers": 1, "instances": 8, "renew_ms": 100, "probes": 8}),
    Run("stock-reload", "nested", "reload", {"rounds": 5}, kernel=STOCK, mem=2048, limit=600,
        module={"workers": 1, "instances": 8, "renew_ms": 100, "probes": 8}),
    Run("uml-long", f"{USUAL} tasklet", params={"seconds": 60, "max_kb": 1048576}, kernel=UML,
        mem=2048, helpers=EVERYBODY, module={"workers": 1, "instances": 57}),
    Run("uml-crowd", "crowd", "crowd", {"crowd": 10000}, kernel=UML, mem=2048, limit=600,
        verify="--whole torture_crowd"),
    # In a kernel that watches itself: see test_debug.py.
    Run("debug", "nmi", params={"seconds": 10}, nmi_ms=200, kernel=DEBUG, limit=600,
        helpers=EVERYBODY, module={"workers": 1, "instances": 6}),
    # Races of plain accesses; the kernel's own are none of BLog's business. One is wanted.
    Run("kcsan", f"{MOST} nmi", params={"seconds": 30}, nmi_ms=100, kernel=KCSAN, limit=900,
        helpers=EVERYBODY, module={"workers": 1, "instances": 6, "race": 1}, warn=True),
    Run("arm64", MOST, params={"seconds": 10}, kernel=ARM64, cpus=8, helpers=EVERYBODY,
        module={"workers": 1, "instances": 6}),
    # By sysrq, which has its stack traces in the log.
    Run("arm64-nmi", "worker nmi", params={"seconds": 5}, kernel=ARM64, cpus=8,
        helpers="reader sysrq", module={"workers": 1, "instances": 6}, warn=True),
    Run("arm64-hotplug", f"{USUAL} hotplug", params={"seconds": 5}, kernel=ARM64, helpers="reader",
        module={"workers": 1, "onoff_ms": 100}),
    Run("riscv64", MOST, params={"seconds": 10}, kernel=RISCV64, cpus=8, helpers=EVERYBODY,
        module={"workers": 1, "instances": 6}),
    Run("lto", f"{MOST} nmi", params={"seconds": 30}, nmi_ms=100, kernel=LTO, limit=300,
        helpers=EVERYBODY, module={"workers": 1, "instances": 6}),
]  # fmt: skip
# Boots with a thread for each CPU, and with NMIs; each must survive.
BOOTS = 20
LONG += [
    Run(f"parallel-{n}", f"{MOST} nmi", params={"seconds": 10}, nmi_ms=10, kernel=PARALLEL,
        helpers=EVERYBODY, module={"workers": 1, "instances": 6})
    for n in range(BOOTS)
]  # fmt: skip
RUNS = [
    pytest.param(run, id=run.name, marks=pytest.mark.kernels(run.kernel)) for run in (*SHORT, *LONG)
]


# A report, with both stacks.
RACE = re.compile(r"BUG: KCSAN: .*?={20}", re.DOTALL)


@pytest.fixture(scope="module")
def verifier() -> Path:
    return built("blog-torture-verify")


def torture_module(kernel: vm.Kernel) -> Path:
    return next(kernel.modules.rglob("blog_torture.ko"))


def other_build(kernel: vm.Kernel, work: Path, sh: Sh) -> Path:
    """The same module with another build ID. Its table would name the first one: the decoder reads
    the sections that the table was made from."""
    note, other = work / "note", work / "other/other.ko"
    other.parent.mkdir()
    section, module = f"-section=.note.gnu.build-id={note}", torture_module(kernel)
    sh("llvm-objcopy", f"--dump{section}", module, work / "unused")
    note.write_bytes(note.read_bytes()[:16] + b"another build ID" + note.read_bytes()[32:])
    sh("llvm-objcopy", f"--update{section}", "--remove-section=.blog.table", module, other)
    return other


def inject(guest: vm.Guest, pause: float) -> None:
    """NMIs, once the test runs: a machine that has not booted yet dies of one."""
    try:
        guest.wait("^guest: torture", 300)
        while True:
            guest.nmi()
            time.sleep(pause)
    except (vm.Ended, OSError, ValueError):
        pass  # the guest is gone


def counters(verdict: str) -> dict[str, int]:
    """The module's counters, by its names for them; sums, if the run had parts."""
    found: dict[str, int] = {}
    for line in re.findall(r"^blog_torture: run \d+: (.*): SUCCESS$", verdict, re.MULTILINE):
        for number, name in re.findall(r"(\d+) ([^,]+)", line):
            found[name] = found.get(name, 0) + int(number)
    return found


@pytest.mark.parametrize("run", RUNS)
def test_run(run: Run, work: Path, verifier: Path, sh: Sh) -> None:
    kernel = vm.kernel(run.kernel)
    here = work / run.name
    here.mkdir()
    params = here / "params"
    params.write_text("".join(f"{key}='{value}'\n" for key, value in run.given().items()))
    files = kernel.files() | {"torture/lib.sh": HERE / "lib.sh", "torture/params": params}
    tables: list[str | Path] = ["--sidetable", kernel.modules / "blog"]
    if run.script == "reload":
        files["torture/other.ko"] = other_build(kernel, here, sh)
        tables += ["--sidetable", here / "other"]
    result = vm.run(
        here, kernel, HERE / f"{run.script}.sh", files=files, machine=run.machine(),
        seconds=run.limit, warn=run.warn,
        during=(lambda guest: inject(guest, run.nmi_ms / 1000)) if run.nmi_ms else None,)  # fmt: skip
    assert not result.problem, result.told()

    options = ["--kinds", run.kinds.replace(" ", ","), *run.verify.split()]
    done = subprocess.run([verifier, *tables, *options, result.out], capture_output=True,
                          text=True, check=False)  # fmt: skip
    (here / "verdict").write_text(done.stdout + done.stderr)
    assert not done.returncode, done.stdout + done.stderr
    counted = counters((result.out / "verdict").read_text())
    for what in run.wanted():
        assert counted[what], f"no {what}: {counted}"
    if run.kernel == KCSAN:
        told = RACE.findall((result.out / "dmesg").read_text(errors="replace"))
        races = [race for race in told if "blog" in race]
        assert races, f"KCSAN doesn't see the race that is wanted: {told}"
        more = [race for race in races if "in blog_torture_race" not in race]
        assert not more, "\n".join(more)
    if "sleeper" in run.helpers:
        # Since the machine has slept, or the TSC was unstable.
        assert (result.out / "sleeper").read_text() == "mono\n"


@pytest.mark.kernels(PARALLEL)
def test_nobody_changes_the_text_of_parallel_cpus() -> None:
    """QEMU's threads may go on with the breakpoints by which that is done."""
    kernel = vm.kernel(PARALLEL)
    patchers = "JUMP_LABEL KPROBES DYNAMIC_FTRACE TRACEPOINTS PREEMPT_DYNAMIC"
    assert not [name for name in patchers.split() if kernel.option(name) == "y"]


def test_records_of_long_runs(work: Path) -> None:
    """Of those that are in this part of the night, in proportion to their seconds."""
    total, seconds = 0, 0
    for run in LONG:
        verdict = work / run.name / "verdict"
        if not verdict.exists():
            continue
        found = re.search(r"^(\d+) attempted, \d+ decoded from ", verdict.read_text(), re.MULTILINE)
        assert found, f"{run.name}: {verdict.read_text()}"
        total += int(found[1])
        seconds += seconds_of(run)
    assert total >= RECORDS * seconds // sum(map(seconds_of, LONG))


def seconds_of(run: Run) -> int:
    return int(run.params.get("seconds", 0))


def test_a_run_refuses_a_parameter_that_its_script_does_not_read() -> None:
    with pytest.raises(ValueError, match="run does not read crowd"):
        Run("refused", params={"crowd": 5})
