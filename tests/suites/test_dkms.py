# SPDX-License-Identifier: GPL-2.0
"""BLog on Debian's own kernel, as users get it: the package blog-dkms.

In a Debian 13 with that kernel, dpkg installs the package, DKMS builds BLog, and the test builds
the package's examples, and Debian's CephFS again, captured. The same machine then boots in QEMU,
where all of these log, and DKMS removes BLog. kdump-tools with Debian's settings (makedumpfile's
-d 31) saves a crash there, and the dump is decoded here. Needs root; that Debian is made once, in
90 s.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run, Tap
from crash import check, truth

TIER = "deep"
SECONDS = 700

# A guest on a busy machine
PATIENCE = 900
IMAGE_GB = 6

# Of the machine: $1 is where it is, $2 where its changes go, $3 the image, $4 the packages, $5 the
# modules of tests.
# Without network, as all that the packages depend on is there. What isn't needed to run is left
# out of the image.
MACHINE = """\
root=$1 top=$2 image=$3 debs=$4
mount -t tmpfs none "$top/mnt"
mkdir "$top/mnt/root"
mount -t overlay -o "lowerdir=$root,upperdir=$top/upper,workdir=$top/work" none "$top/mnt/root"
cd "$top/mnt/root"
mount -t proc proc proc
mkdir debs && cp "$debs"/*.deb debs
cp -r "$top/inside" "$5"/{crash,testmod.h} debs
env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin HOME=/root chroot . bash /debs/inside
umount proc
rm -rf debs usr/src/linux-* usr/lib/rustlib usr/lib/llvm-* usr/lib/gcc var/lib/blog/*/{source,build}/*
rm -f usr/lib/x86_64-linux-gnu/lib{LLVM,clang,rustc_driver}* usr/libexec/gcc/x86_64-linux-gnu/*/*1*
install -m 755 "$top/guest" usr/bin/blog-test
cp "$top/blog-test.service" etc/systemd/system/
ln -s /etc/systemd/system/blog-test.service etc/systemd/system/multi-user.target.wants/
mke2fs -q -t ext4 -d . "$image"
"""

# In the chroot. "ok" and "not ok" are tests.
INSIDE = """\
cd /debs
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
release=$(basename /lib/modules/*)
log=$(echo /var/lib/dkms/blog/*)/build/make.log
t() {
	local name=$1
	shift
	if "$@" >said 2>&1; then echo "ok - $name"; else tail -n 40 said; echo "not ok - $name"; fi
}
# says WORDS COMMAND...: the command succeeds, and says why there is no BLog
says() {
	local words=$1
	shift
	"$@" >reason 2>&1 && cat reason && grep "metadata: .*$words" reason && ! modinfo -k "$release" blog
}
# What a kernel's package does when it is installed, of which an error leaves it unconfigured
kernel_postinst() {
	run-parts --exit-on-error --regex '^(blog-)?dkms$' --arg="$release" --arg="/boot/vmlinuz-$release" "/etc/kernel/$1"
}
dpkg -i blog-tools_*.deb >/dev/null
mv /usr/src/linux-source-*.tar.xz .
t "without the kernel's source, the package says so" says "there is no /usr/src/linux-source" dpkg -i blog-dkms_*.deb
t "a kernel is installed all the same" says "there is no /usr/src/linux-source" kernel_postinst postinst.d
mv linux-source-*.tar.xz /usr/src/
echo "echo rustc 1.99.0" >/usr/local/bin/rustc && chmod +x /usr/local/bin/rustc
t "with another rustc, too" says "was built with rustc" kernel_postinst header_postinst.d
rm /usr/local/bin/rustc
echo "time before: $SECONDS s"
t "with all there, the kernel's hook builds and installs BLog" kernel_postinst header_postinst.d
echo "time after: $SECONDS s"
t "it is signed" grep "DKMS module signing key" <(modinfo -F signer -k "$release" blog)
t "it is installed" grep -q "blog/.*$release.*: installed" <(dkms status)
cp -r /usr/share/doc/blog-dkms/examples/* crash testmod.h /root
for driver in rust_blog c_blog crash; do
	t "the driver $driver is built" make -C "/var/lib/blog/$release" driver M="/root/$driver" \
		DRIVER=CONFIG_BLOG_CRASH_TEST=m
done
tar -C /root -xf /usr/src/linux-source-*.tar.xz --wildcards --strip-components=1 '*/net/ceph' '*/fs/ceph'
for driver in net/ceph fs/ceph; do
	t "Debian's $driver is built with capture" make -j2 -C "/var/lib/blog/$release" driver \
		BLOG_CAPTURE=y M="/root/$driver"
done
du -sh /var/lib/blog
echo 1..11
"""

# In the guest, started by systemd. Of the tests, 0 is for a name.
GUEST = """\
#!/bin/bash
exec >/dev/ttyS0 2>&1
cd /root
echo "guest: up after $(cut -d' ' -f1 /proc/uptime) s"
t() {
	local name=$1
	shift
	if "$@" >said 2>&1; then echo "guest: ok - $name"
	else sed 's/^/guest: /' said; echo "guest: not ok - $name"; fi
}
off() { ! "$@"; }
end() { sync; echo o >/proc/sysrq-trigger; sleep 60; }
t "modprobe finds what DKMS has installed" grep -q /updates/dkms/blog.ko <(modinfo -n blog)
t "modprobe blog" modprobe blog
if grep -qw blog-test=crash /proc/cmdline; then
	t "kdump-tools is ready" grep -q "ready to kdump" <(kdump-config status)
	insmod crash/blog_crash.ko records=@RECORDS@
	echo abba >/sys/module/blog_crash/parameters/scene
	until dmesg | grep -q "blog_crash: ready"; do sleep 1; done
	sync
	echo c >/proc/sysrq-trigger
fi
t "the example in Rust loads" insmod rust_blog/rust_blog.ko
t "the example in C loads" insmod c_blog/c_blog.ko
t "CephFS finds all that it imports" modprobe -a ceph
rmmod ceph libceph
t "libceph loads, captured" insmod net/ceph/libceph.ko
t "ceph loads, captured" insmod fs/ceph/ceph.ko
key=AQBnQ2VmAAAAABAA9Z8cYh3wXb2nq1C9C0m1lA==
t "a mount finds no monitor" off mount -i -t ceph 127.0.0.1:6789:/ /mnt -o "name=admin,secret=$key,mount_timeout=3"
t "a snapshot is read" cp /sys/kernel/debug/blog/snapshot .
t "the snapshot is decoded" blog-decode -s rust_blog -s c_blog -s net/ceph -s fs/ceph snapshot
cp said text
grep -v ceph text | sed 's/^/guest: /'
grep -c " ceph " text | sed 's/^/guest: of ceph: /'
grep -c " libceph " text | sed 's/^/guest: of libceph: /'
t "the mount is there, from its beginning" grep " ceph  *mount\\[.*ceph_parse_mount_param" text
t "so is why it failed" grep " libceph .*ceph_con_workfn" text
t "all drivers go" rmmod ceph libceph c_blog rust_blog
t "dkms remove" dkms remove -m blog -v @VERSION@ --all
t "then there is no module" off modinfo blog
t "then there are no metadata" off ls -d /var/lib/blog/*
echo "guest: 1..16"
echo "guest: end after $(cut -d' ' -f1 /proc/uptime) s"
end
"""
UNIT = """\
[Service]
Type=oneshot
ExecStart=/usr/bin/blog-test
"""


# What Debian's kdump-tools puts on the command line
CRASH = "crashkernel=512M-:192M blog-test=crash"
RECORDS = 1000


@dataclass(frozen=True)
class Debian(vm.Kernel):
    """The kernel of a Debian's /boot."""

    @property
    def image(self) -> Path:
        return next((self.build / "boot").glob("vmlinuz-*"))

    def option(self, name: str) -> str:
        return "n"


@dataclass(frozen=True)
class Machine:
    """The machine, and what was said when it was made."""

    kernel: Debian
    initrd: Path
    disk: Path
    said: str

    def boot(self, work: Path, args: str) -> vm.Guest:
        drive = ["-drive", f"file={self.disk},format=raw,if=virtio,cache=unsafe"]
        machine = vm.Machine(
            2, 2048, f"root=/dev/vda rw systemd.mask=serial-getty@ttyS0.service {args}", more=drive
        )
        return vm.Guest(work, self.kernel, self.initrd, machine, disks=0)


@pytest.fixture(scope="module")
def machine(work: Path, sh: Run) -> Machine:
    if os.getuid():
        pytest.skip("not root")
    root = Path(sh(TOP / "scripts/fetch", "dkms-root").splitlines()[-1]).resolve() / "root"
    sh(TOP / "scripts/package-deb", work / "debs")
    version = next((work / "debs").glob("blog-dkms_*")).name.split("_")[1]
    for name in ("mnt", "upper", "work"):
        (work / name).mkdir()
    (work / "inside").write_text(INSIDE)
    (work / "guest").write_text(
        GUEST.replace("@VERSION@", version).replace("@RECORDS@", str(RECORDS)))  # fmt: skip
    (work / "blog-test.service").write_text(UNIT)
    disk = work / "disk"
    with disk.open("wb") as file:
        file.truncate(IMAGE_GB << 30)
    said = sh("unshare", "--mount", "--net", "--pid", "--kill-child", "bash", "-euc", MACHINE, "-",
              root, work, disk, work / "debs", TOP / "tests/modules")  # fmt: skip
    # The initramfs that was made there
    kernel = Debian("debian", root)
    return Machine(kernel, next((root / "boot").glob("initrd.img-*")), disk, said)


def test_packages(machine: Machine, tap: Tap) -> None:
    tap(machine.said.splitlines())


def test_crash(machine: Machine, work: Path, decoder: Path, sh: Run) -> None:
    guest = machine.boot(work / "crash", CRASH)
    try:
        guest.wait("blog_crash: ready", PATIENCE)
        facts = truth.read("abba", guest.text())
        guest.wait("saved vmcore in", PATIENCE)
        guest.wait_end(60)
    finally:
        guest.end()
    sh("debugfs", "-R", f"rdump /var/crash {work / 'crash'}", machine.disk)
    dump = next((work / "crash/crash").glob("*/dump.*"))
    tools = check.Tools(decoder, work / "upper/root/crash")
    (work / "crash/said").write_text(check.check(tools, dump, facts, RECORDS, work / "crash"))


def test_guest(machine: Machine, work: Path, tap: Tap) -> None:
    guest = machine.boot(work / "guest-1", "")
    try:
        guest.wait_end(PATIENCE)
    finally:
        guest.end()
    tap(re.findall(r"^guest: (.*)$", guest.text(), re.MULTILINE))
    assert "guest: end after" in guest.text(), guest.tail()
