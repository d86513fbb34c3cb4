# SPDX-License-Identifier: GPL-2.0
"""The scenes of crashes, the captures of memory, and the guests.

There are not all combinations: every scene and every form of a dump occurs, and some guests of
each kind. The long form has more of each.
"""

from dataclasses import dataclass

# makedumpfile's options for each form that is made of a raw dump of kdump's.
FORMS = {
    "raw": None,
    "d0-zlib": ["-c", "-d", "0"],
    "d0-plain": ["-d", "0"],
    "d23-zlib": ["-c", "-d", "23"],
    "d31-zlib": ["-c", "-d", "31"],
    "d31-lzo": ["-l", "-d", "31"],
    "d31-zstd": ["-z", "-d", "31"],
    "d31-flat": ["-F", "-c", "-d", "31"],
    "d31-elf": ["-E", "-d", "31"],
}

# The settings that make the kernel panic.
ARGS = {
    "softirq": "",
    "abba": "hung_task_panic=1",
    "lost": "",
    "lockup": "softlockup_panic=1",
    "blame": "",
    "record": "unknown_nmi_panic",
    "turn": "unknown_nmi_panic",
}
# Not so short that a busy host brings it on.
SYSCTLS = {
    "abba": "kernel/hung_task_timeout_secs=5",
    "lockup": "kernel/watchdog_thresh=4",
}
# The kernel's own clock reads again what was updated meanwhile, so with stops in between
# it would never come to an end.
BLOG = {"record": "clock=counter", "turn": "clock=counter"}


@dataclass(frozen=True)
class Case:
    name: str
    scene: str
    # "kdump": the crash kernel brings /proc/vmcore out; "qemu": QEMU dumps after the
    # panic; "live": QEMU dumps while the guest runs; "steps": and at many places of one
    # log call.
    capture: str
    forms: tuple[str, ...]
    # In less, KASLR may leave no 80 MiB in one piece for the crash kernel.
    mem: int = 320
    levels: int = 5
    cpu: str = "max"
    flavour: str = "x86"
    settings: str = ""
    sysrq: bool = False
    # Options of a makedumpfile that runs in the crash kernel.
    makedumpfile: str = ""
    # At least so many places.
    stops: int = 0


SHORT = [
    Case("softirq-kdump", "softirq", "kdump",
         ("raw", "d0-zlib", "d31-lzo", "d31-zstd", "d31-flat", "d31-elf"), mem=512),
    Case("abba-elf", "abba", "qemu", ("elf",), levels=4),
    Case("lost-live", "lost", "live", ("kdump-zlib", "elf"), mem=512),
    Case("lost-sysrq", "lost", "kdump", ("stream",), levels=4, sysrq=True,
         makedumpfile="-l -d 31"),
    Case("record-nmi", "record", "kdump", ("raw", "d31-zlib"), settings="at=30"),
    Case("turn-nmi", "turn", "qemu", ("kdump-zlib",), settings="at=100"),
    Case("record-steps", "record", "steps", ("elf",), settings="at=24 every=16", stops=4),
    Case("turn-steps", "turn", "steps", ("elf",), levels=4, settings="at=1 every=120", stops=4),
    Case("blame", "blame", "live", ("elf", "kdump-zlib")),
    # Debian's own kernel, where BLog has no hooks. With -d 31, makedumpfile takes pages of slabs
    # for those of processes there, but none that BLog needs: see blog/sys/pages.rs.
    Case("softirq-stock", "softirq", "kdump", ("raw", "d31-zlib"), mem=1024, flavour="stock"),
    Case("abba-stock", "abba", "qemu", ("elf",), mem=1024, flavour="stock"),
    Case("blame-stock", "blame", "live", ("elf",), mem=1024, flavour="stock"),
    # Of more than 30 tasks, some are in such pages, as tasks are small where the CPU has few
    # registers to save: see packaging/anykernel/notes.rs.
    Case("lost-stock", "lost", "kdump", ("d31-zlib",), mem=1024, flavour="stock", sysrq=True,
         cpu="max,pku=off"),
]  # fmt: skip

LONG = [
    Case(f"{scene}-{capture}-{mem}-{levels}", scene, capture,
         tuple(FORMS) if capture == "kdump" else ("elf", "kdump-zlib"),
         mem=mem, levels=levels, settings=settings)
    for scene, settings in (("softirq", ""), ("abba", ""), ("lockup", ""),
                            ("record", "at=20"), ("turn", "at=200"))
    for capture, mem, levels in (("kdump", 320, 5), ("kdump", 512, 4), ("qemu", 512, 5),
                                 ("qemu", 256, 4))
] + [
    # Another architecture
    Case("abba-arm64", "abba", "qemu", ("elf", "kdump-zlib"), flavour="arm64"),
    Case("softirq-arm64", "softirq", "qemu", ("elf",), flavour="arm64"),
    # Where BLog is built in, and compound_info has a mask.
    Case("softirq-mask", "softirq", "kdump", ("d31-zlib",), flavour="x86-y"),
    Case("lockup-zlib", "lockup", "qemu", ("kdump-zlib",), mem=512, levels=4, flavour="x86-y"),
    Case("record-each", "record", "steps", ("elf",), settings="at=1 every=1", stops=40),
    Case("turn-each", "turn", "steps", ("elf",), settings="at=1 every=7", stops=60),
]  # fmt: skip
