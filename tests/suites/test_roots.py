# SPDX-License-Identifier: GPL-2.0
"""The commands of README.md on machines that aren't ours: small systems with nothing installed, of
each release that scripts/setup knows. Debian 12 has rustup's Rust, and Debian 13 its own, the
oldest one that README.md allows: there all tests run, too.

Needs root and a network. Each machine takes some ten minutes and 8 GB, with all tests an hour or
two and 25 GB, which are freed again; what it printed, with the times, stays in MACHINE.log.
"""

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run

DEBIAN = "http://deb.debian.org/debian"
# Docker's default capabilities
CONTAINER = (
    "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,"
    "+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap"
)
# Machines: their release, where it is from, and their rights
MACHINES = {
    "bookworm": ("bookworm", DEBIAN, CONTAINER),
    "trixie": ("trixie", DEBIAN, CONTAINER),
    "noble": ("noble", "http://archive.ubuntu.com/ubuntu", CONTAINER),
    "chroot": ("bookworm", DEBIAN, "+all"),
}
COMMANDS = re.findall(r"^(make \S+) +#", (TOP / "README.md").read_text(), re.MULTILINE)
# Where the second one runs, too, with all rights
ALL_TESTS = ("bookworm", "trixie")
BEFORE = "apt-get -q update && apt-get -q install -y --no-install-recommends make"
# For the first command, nothing but /proc is mounted. A network may have a certificate of its own.
INSIDE = """\
mount -t proc proc "$1/proc"
[ -z "$4" ] || { mount --bind /dev "$1/dev" && mount -t devpts devpts "$1/dev/pts"; }
setpriv --bounding-set "$3" chroot "$1" env -i HOME=/root LC_ALL=C.UTF-8 \
	CARGO_HTTP_CAINFO=/ca.crt PIP_CERT=/ca.crt \
	PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	bash -ec "$2" 2>&1 | tee -a "$1.log"
"""


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, work: Path, sh: Run) -> Iterator[Path]:
    """A minbase with a clone of this repository in /blog."""
    release, archive, _ = MACHINES[request.param]
    root = work / request.param
    keys, components = Path("/"), "main"
    if archive != DEBIAN:
        keys, components = vm.fetch("ubuntu-keyring"), "main universe"
    (key,) = (keys / "usr/share/keyrings").glob(f"{archive.rpartition('/')[2]}-archive-keyring.gpg")
    sh("mmdebstrap", "--mode=root", "--variant=minbase", "--include=apt", "--skip=chroot/mount",
       f"--keyring={key}", release, root, f"deb {archive} {release} {components}")  # fmt: skip
    # A network may have a certificate of its own.
    for path, its in (
        ("etc/resolv.conf", "etc/resolv.conf"),
        ("etc/ssl/certs/ca-certificates.crt", "ca.crt"),
    ):
        (root / its).write_bytes((Path("/") / path).read_bytes())
    sh("git", "clone", "--quiet", "--no-hardlinks", TOP, root / "blog")
    if release != "trixie":
        # As rustup would install it: the release's own Rust is too old.
        toolchain = sh("rustc", "--print", "sysroot").strip()
        sh("cp", "-a", toolchain, root / "opt/rust")
    yield root
    sh("rm", "-rf", root)


def test_commands(
    machine: Path, sh: Run, subtests: pytest.Subtests, capsys: pytest.CaptureFixture[str]
) -> None:
    def inside(command: str, rights: str, mounts: str = "") -> None:
        sh("unshare", "--mount", "bash", "-eo", "pipefail", "-c", INSIDE, "bash", machine, command,
           rights, mounts)  # fmt: skip

    rights = MACHINES[machine.name][2]
    inside(BEFORE, rights)
    demo, test = COMMANDS
    for command in (demo, test) if machine.name in ALL_TESTS else (demo,):
        with subtests.test(msg=command):
            start = time.monotonic()
            inside(f"cd /blog && {command}", *((rights,) if command == demo else ("+all", "dev")))
            took = f"{machine.name}: {command}: {time.monotonic() - start:.0f} s"
            with capsys.disabled():
                print(took, file=sys.stderr)
