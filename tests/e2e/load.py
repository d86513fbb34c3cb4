# SPDX-License-Identifier: GPL-2.0
"""Has fio load rnull's disk in a guest, or dd where that has no fio. scripts/demo uses it: standard
library only."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import vm
from e2e import pattern

HERE = Path(__file__).resolve().parents[1] / "guest/e2e"


@dataclass(frozen=True)
class Load:
    """What tests/guest/e2e/SCRIPT.sh is to do."""

    script: str = "load"
    ios: int = 20_000
    size_kb: int = 512  # of the component
    ring_kb: int = 64
    mode: str = "overwrite"
    rounds: int = 3
    faults: int = 0  # of a hundred allocations, how many fail
    deep: int = 0
    whole: bool = False  # there is room for all records


# The log equals the load; it overwrites its oldest all the time; it keeps the oldest and
# counts the rest; the driver is unloaded and loaded again.
LOADS = {
    "load": Load(size_kb=131072, ring_kb=65536, whole=True),
    "lossy": Load(),
    "discard": Load(mode="discard"),
    "reload": Load("reload", size_kb=16384, ring_kb=1024),
}


def run(
    work: Path,
    kernel: vm.Kernel,
    load: Load,
    *,
    machine: vm.Machine | None = None,
    seconds: float = 300,
    echo: Callable[[str], None] | None = None,
) -> vm.Result:
    """Boots a guest for it; what came out of the rings is in the result's folder."""
    params = {field.name: getattr(load, field.name) for field in fields(load)}
    params["disk_mib"] = pattern.disk_mib(load.ios)
    work.mkdir(parents=True, exist_ok=True)
    (work / "params").write_text("".join(f"{key}={value}\n" for key, value in params.items()))
    programs = {}
    if kernel.other:
        (work / "load").write_text(pattern.script(load.ios))
    else:
        (work / "load").write_text(pattern.job_file(load.ios))
        programs["bin/fio"] = vm.fetch("fio") / "fio"
    files = {f"e2e/{name}": work / name for name in ("params", "load")}
    files["e2e/fault-lib.sh"] = HERE / "fault-lib.sh"
    return vm.run(
        work,
        kernel,
        HERE / f"{load.script}.sh",
        files=kernel.files() | files,
        programs=programs,
        machine=machine or vm.Machine(mem=2048 if load.whole else 1536),
        seconds=seconds,
        echo=echo,
    )
