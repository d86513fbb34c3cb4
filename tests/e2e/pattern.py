# SPDX-License-Identifier: GPL-2.0
"""The load whose every I/O is known beforehand.

Each job covers a region of the disk of its own, and each block in it exactly
once, in order or at random (fio's random map sees to that). So the set of
(operation, sector, bytes) is known without asking fio. Used twice: to write the
job file that the guest runs, and by the checker to know what should be in the
log. It reads and writes nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

SECTOR = 512
REGION = 1 << 30  # bytes of the disk that each job owns


@dataclass(frozen=True)
class Job:
    """One process of the load."""

    name: str
    rw: str  # fio's rw=
    block: int  # bytes of one I/O
    engine: str = "psync"
    depth: int = 1

    @property
    def op(self) -> str:
        """The operation as the driver logs it."""
        return "Write" if self.rw.endswith("write") else "Read"


# Several sizes, both directions, in order and at random, one and many in flight.
JOBS = (
    Job("seq-write-512", "write", 512),
    Job("seq-read-4k", "read", 4096),
    Job("rand-write-4k", "randwrite", 4096),
    Job("rand-read-1k", "randread", 1024),
    Job("uring-write-2k", "write", 2048, "io_uring", 8),
    Job("uring-rand-read-512", "randread", 512, "io_uring", 16),
    Job("rand-write-512", "randwrite", 512),
    Job("seq-read-8k", "read", 8192),
)
# Of busybox's dd, which bypasses the page cache only with blocks of pages.
DD_JOBS = tuple(replace(job, block=max(job.block, 4096)) for job in JOBS)


def ios_per_job(total: int) -> int:
    """I/Os that each job does so that all do `total` at least."""
    return -(-total // len(JOBS))


def disk_mib(total: int) -> int:
    """Size that the disk must have."""
    biggest = max(job.block for job in JOBS) * ios_per_job(total)
    if biggest > REGION:
        raise ValueError(f"{total} I/Os don't fit into regions of {REGION} bytes")
    return len(JOBS) * REGION >> 20


def job_file(total: int, disk: str = "/dev/rnullb0") -> str:
    """fio's job file for this load."""
    count = ios_per_job(total)
    lines = [
        "[global]",
        f"filename={disk}",
        "direct=1",
        "group_reporting=0",
        "randrepeat=1",
        "disk_util=0",
        "gtod_reduce=1",
    ]
    for number, job in enumerate(JOBS):
        lines += [
            f"[{job.name}]",
            f"rw={job.rw}",
            f"bs={job.block}",
            f"ioengine={job.engine}",
            f"iodepth={job.depth}",
            f"offset={number * REGION}",
            f"size={count * job.block}",
        ]
    return "\n".join(lines) + "\n"


def script(total: int, disk: str = "/dev/rnullb0") -> str:
    """Such a load by a script of dd, in order and one I/O at a time in each process, for guests
    that have no fio."""
    count, lines = ios_per_job(total), []
    for number, job in enumerate(DD_JOBS):
        skip = number * REGION // job.block
        ends = (f"if={disk} of=/dev/null iflag=direct skip={skip}" if job.op == "Read" else
                f"if=/dev/zero of={disk} oflag=direct conv=notrunc seek={skip}")  # fmt: skip
        lines.append(f'dd {ends} bs={job.block} count={count} 2>&1 & pids="$pids $!"')
    return "\n".join([*lines, "for pid in $pids; do wait $pid || exit; done"]) + "\n"


def expected(total: int, jobs: tuple[Job, ...] = JOBS) -> Iterator[tuple[str, int, int]]:
    """Yields (operation, sector, bytes) of each I/O of the load, each once."""
    count = ios_per_job(total)
    for number, job in enumerate(jobs):
        base = number * REGION // SECTOR
        step = job.block // SECTOR
        for block in range(count):
            yield job.op, base + block * step, job.block
