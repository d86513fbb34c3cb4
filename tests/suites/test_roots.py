# SPDX-License-Identifier: GPL-2.0
"""The first command of README.md on machines that aren't ours: small systems with nothing
installed, of each release that scripts/setup knows, with the rights of a container.

Needs root and a network. Each machine takes some ten minutes and 8 GB, which are freed again.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import TOP, Run

TIER = "deep"
SECONDS = 2400

DEBIAN = "http://deb.debian.org/debian", "/usr/share/keyrings/debian-archive-keyring.gpg"
UBUNTU = "http://archive.ubuntu.com/ubuntu", "/usr/share/keyrings/ubuntu-archive-keyring.gpg"
# Releases, and whether their own Rust is new enough
RELEASES = {"bookworm": (*DEBIAN, False), "trixie": (*DEBIAN, True), "noble": (*UBUNTU, False)}

# Without a mount but /proc, and then without the right to mount. Docker's default capabilities
RIGHTS = (
    "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw "
    "sys_chroot mknod audit_write setfcap"
)
COMMANDS = """\
apt-get -q update
apt-get -q install -y --no-install-recommends make
make -C /blog demo-stock
"""
INSIDE = """\
mount -t proc proc "$1/proc"
exec setpriv --bounding-set "$3" chroot "$1" env -i HOME=/root LC_ALL=C.UTF-8 CARGO_HTTP_CAINFO=/ca.crt \
	PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -ec "$2"
"""


@pytest.fixture(params=RELEASES)
def root(request: pytest.FixtureRequest, work: Path, sh: Run) -> Iterator[Path]:
    """A minbase with a clone of this repository in /blog."""
    archive, key, rust = RELEASES[request.param]
    if not Path(key).exists():
        pytest.skip(f"no {key}: run scripts/setup --deep")
    root = work / request.param
    components = "main universe" if archive == UBUNTU[0] else "main"
    sh("mmdebstrap", "--mode=root", "--variant=minbase", "--skip=chroot/mount", request.param, root,
       f"deb [signed-by={key}] {archive} {request.param} {components}")  # fmt: skip
    # A network may have a certificate of its own.
    for path, its in (
        ("etc/resolv.conf", "etc/resolv.conf"),
        ("etc/ssl/certs/ca-certificates.crt", "ca.crt"),
    ):
        (root / its).write_bytes((Path("/") / path).read_bytes())
    sh("git", "clone", "--quiet", "--no-hardlinks", TOP, root / "blog")
    if not rust:
        # As rustup would install it
        toolchain = sh("rustc", "--print", "sysroot").strip()
        sh("cp", "-a", toolchain, root / "opt/rust")
    yield root
    sh("rm", "-rf", root)


def test_demo(root: Path, sh: Run) -> None:
    rights = "-all," + ",".join(f"+{right}" for right in RIGHTS.split())
    print(sh("unshare", "--mount", "sh", "-ec", INSIDE, "sh", root, COMMANDS, rights))
