# SPDX-License-Identifier: GPL-2.0
"""BLog on Debian's own kernels, as users get it: blog-tools, blog-dkms and blog-dkms-rust.

In a Debian 12, 13 and sid, each with its own kernel, dpkg installs the packages, DKMS builds BLog
and a driver, apt updates the kernel, and what can go wrong goes wrong: each time one message says
why, and the kernel's package is installed all the same. Then the machine boots in QEMU with its
own kernel, where the driver logs and the log is decoded, and dpkg removes BLog. On a Debian 13 with
a kernel that has Rust, so does a driver in Rust. Needs root; each Debian is made once, in a minute.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run, Tap

# A guest on a busy machine
PATIENCE = 900
IMAGE_GB = 3

# Of the machine: $1 is where it is, $2 where its changes go, $3 the image, $4 the packages.
# Without network, as all that the packages depend on is there. What isn't needed to run is left
# out of the image.
MACHINE = """\
root=$1 top=$2 image=$3 debs=$4
mount -t tmpfs none "$top/mnt"
mkdir "$top"/mnt/{root,upper,work}
mount -t overlay -o "lowerdir=$root,upperdir=$top/mnt/upper,workdir=$top/mnt/work" none "$top/mnt/root"
cd "$top/mnt/root"
mount -t proc proc proc
mkdir debs && cp "$debs"/*.deb "$top/inside" debs
env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin HOME=/root chroot . bash /debs/inside
umount proc
cp "$(echo boot/vmlinuz-* | cut -d' ' -f1)" "$(echo boot/initrd.img-* | cut -d' ' -f1)" "$top"
rm -rf debs update var/cache/apt usr/src/linux-* usr/lib/linux-kbuild-* usr/lib/gcc usr/libexec/gcc
install -m 755 "$top/guest" usr/bin/blog-test
cp "$top/blog-test.service" etc/systemd/system/
ln -s /etc/systemd/system/blog-test.service etc/systemd/system/multi-user.target.wants/
mke2fs -q -t ext4 -d . "$image"
"""

# In the chroot. "ok" and "not ok" are tests.
SHELL = r"""
cd /debs
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
release=$(basename /lib/modules/*)
build=/lib/modules/$release/build
t() {
	local name=$1
	shift
	if "$@" >said 2>&1; then echo "ok - $name"; else tail -n 40 said; echo "not ok - $name"; fi
}
# says WORDS COMMAND...: the command succeeds, and says this
says() {
	local words=$1
	shift
	"$@" >reason 2>&1 && cat reason && grep -q -- "$words" reason
}
# fails WORDS COMMAND...: it fails, and says this
fails() {
	local words=$1
	shift
	! "$@" >reason 2>&1 && cat reason && grep -q -- "$words" reason
}
off() { ! "$@"; }
"""
INSIDE = r"""
src=$(echo blog-dkms_*.deb | sed 's/_/-/; s/-dkms//; s/_.*//; s|^|/usr/src/|')
hook=/etc/kernel/header_postinst.d/blog-dkms
kbuild() { make -j2 -C "$build" "M=$1" modules; }
has_no_object() { [ -z "$(find /var/lib/dkms/blog/*/build -type f ! -name make.log)" ]; }
dpkg -i blog-tools_*.deb >/dev/null

mv "$build" /build
t "a kernel without headers" says "blog-dkms: .*$release, which has no headers here: apt install" dpkg -i blog-dkms_*.deb
mv /build "$build"
# As small as it gets
stat=$(command -v stat)
printf '#!/bin/sh\necho "1 * 4096"\n' >/usr/local/bin/stat && chmod +x /usr/local/bin/stat
t "no room" says "blog-dkms: 0 MiB are free in /var/lib/dkms: 256 are needed" $hook "$release"
rm /usr/local/bin/stat
sed -i.good '1i#error this kernel is of another kind' $src/compat.h
t "a kernel that BLog can't be built for" says "blog-dkms: .*error: .*of another kind" $hook "$release"
t "of that build, only its log is left" has_no_object
mkdir /root/driver && cp /usr/share/doc/blog-dkms/examples/c_blog/* /root/driver
t "a driver is built without BLog" says "BLog is not installed for the kernel $release: .*logs nothing" kbuild /root/driver
t "that driver needs no BLog" sh -c '! modinfo -F depends /root/driver/c_blog.ko | grep .'
mv $src/compat.h.good $src/compat.h
t "BLog is built and installed" $hook "$release"
t "it is installed" grep "blog/.*$release.*: installed" <(dkms status)
t "no compiler or modpost has warned" off grep -i warning /var/lib/dkms/blog/*/"$release"/*/log/make.log
t "it is signed" grep "DKMS module signing key" <(modinfo -F signer -k "$release" blog)
printf '#!/bin/sh\n[ "$1" != --sb-state ] || echo SecureBoot enabled\n' >/usr/local/bin/mokutil && chmod +x /usr/local/bin/mokutil
t "Secure Boot, and a key that the firmware doesn't know" says "mokutil --import /var/lib/dkms/mok.pub" $hook "$release"
rm /usr/local/bin/mokutil

# A driver with more modules, one of them in a folder below; by DKMS, too
cd /root/driver
mkdir below && sed 's/c_blog/below/g' c_blog.c >below/main.c
printf 'include /usr/src/blog/driver.mk\nobj-m := c_blog.o second-c.o below/\n' >Makefile
printf 'obj-m := below.o\nbelow-y := main.o more.o\n' >below/Makefile
echo 'int more;' >below/more.c
sed 's/c_blog/second_c/g' c_blog.c >second-c.c
cat >dkms.conf <<-'END'
	PACKAGE_NAME="driver"
	PACKAGE_VERSION="1.0"
	BUILT_MODULE_NAME[0]="c_blog"
	DEST_MODULE_LOCATION[0]="/updates/dkms"
	AUTOINSTALL="yes"
END
make -C "$build" M=/root/driver clean >/dev/null
cp -r /root/driver /usr/src/driver-1.0
t "a driver is built" kbuild /root/driver
t "no compiler or modpost has warned of it" off grep -i warning /debs/said
cd /debs
t "a format that can't be logged is an error" fails 'bad.c:.*%n' sh -c "mkdir /root/bad && sed 's/%u bytes/%n bytes/' /root/driver/c_blog.c >/root/bad/bad.c && printf 'obj-m := bad.o\ninclude /usr/src/blog/driver.mk\n' >/root/bad/Makefile && make -C $build M=/root/bad modules"
for module in c_blog second-c below/below; do
	t "$module.ko contains its table" test "$(blog-decode sites --json /root/driver/$module.ko | wc -l)" = 4
done
t "without blog-tools, the build says so" fails "install the package blog-tools" sh -c "touch /root/driver/c_blog.c; make -C $build M=/root/driver BLOG_FMT_SIDETABLE=/nowhere modules"
t "DKMS builds a driver" dkms install driver/1.0 -k "$release"
# The number of another BLog, for a driver that the guest loads
cp -r /root/driver/c_blog.c /root/bad && cp -r $src /root/other && cp /var/lib/blog/"$release"/Module.symvers /root/other
sed -i 's/BLOG_ABI .*/BLOG_ABI 0x12345678/' /root/other/include/linux/blog_abi.h
printf 'obj-m := other.o\ninclude /root/other/driver.mk\n' >/root/bad/Makefile
sed 's/c_blog/other/g' /root/bad/c_blog.c >/root/bad/other.c
t "a driver is built for another BLog" kbuild /root/bad

if ls /update/linux-image-*.deb >/dev/null 2>&1; then
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	t "apt updates the kernel" apt-get -qy --no-download --no-install-recommends -o Dir::Cache::archives=/update -t "$suite-backports" install linux-image-amd64 linux-headers-amd64
	new=$(basename "$(ls -d /lib/modules/* | grep -v "$release\$")")
else
	# As a new kernel's package would
	t "DKMS removes BLog from a kernel" dkms remove blog/"${src##*-}" -k "$release"
	t "a kernel's hooks build it again" run-parts --arg="$release" /etc/kernel/header_postinst.d
	new=$release
fi
t "then it has BLog" modinfo -k "$new" blog
t "and the driver" grep -x "blog" <(modinfo -F depends -k "$new" c_blog)
t "no package is left unconfigured" [ -z "$(dpkg --audit)" ]
echo 1..24
"""
RUST_INSIDE = r"""
dpkg -i blog-tools_*.deb blog-dkms_*.deb >/dev/null
hook=/etc/kernel/postinst.d/zzz-blog-dkms-rust
mv /usr/src/linux-source-*.tar.xz .
t "without the kernel's source, the package says so" says "there is no /usr/src/linux-source" dpkg -i blog-dkms-rust_*.deb
mv linux-source-*.tar.xz /usr/src/
printf '#!/bin/sh\necho rustc 1.99.0\n' >/usr/local/bin/rustc && chmod +x /usr/local/bin/rustc
t "with another rustc, the hook says so" says "was built with rustc" $hook "$release"
rm /usr/local/bin/rustc
t "nothing is left of either" off sh -c "ls /var/lib/blog/$release | grep rust"
t "the hook is the last one" sh -c 'ls /etc/kernel/postinst.d | tail -n 1 | grep zzz-blog-dkms-rust'
t "with all there, it succeeds" off says . $hook "$release"
cp -r /usr/share/doc/blog-dkms-rust/examples/rust_blog /root
t "the example is built" make -C "/var/lib/blog/$release/rust" driver M=/root/rust_blog
rm -rf /var/lib/blog/*/rust/{source,build}/* /usr/lib/rustlib /usr/lib/llvm-* /usr/lib/x86_64-linux-gnu/lib{LLVM,clang,rustc_driver}*
echo 1..6
"""

# In the guest, started by systemd. Of the tests, 0 is for a name.
GUEST_SHELL = r"""#!/bin/bash
exec >/dev/ttyS0 2>&1
cd /root
echo "guest: up after $(cut -d' ' -f1 /proc/uptime) s, $(uname -r)"
t() {
	local name=$1
	shift
	if "$@" >said 2>&1; then echo "guest: ok - $name"
	else sed 's/^/guest: /' said; echo "guest: not ok - $name"; fi
}
off() { ! "$@"; }
"""
GUEST = r"""
t "modprobe finds what DKMS has installed" grep -q /updates/dkms/blog.ko <(modinfo -n blog)
t "the driver loads, and BLog with it" modprobe c_blog
t "a snapshot is read" cp /sys/kernel/debug/blog/snapshot .
t "it is decoded by the module that DKMS has installed" blog-decode snapshot
cp said text
sed 's/^/guest: /' text
t "it has all records" [ "$(grep -c ' c_blog ' text)" = 18 ]
t "the error is among them" grep "not whole sectors: -EINVAL" text
t "another module loads" insmod driver/below/below.ko
t "its table is in it" sh -c 'blog-decode -s driver /sys/kernel/debug/blog/snapshot | grep -c " below " | grep -x 18'
t "a driver for another BLog loads" insmod bad/other.ko
t "its calls are off, and the kernel says why" sh -c 'dmesg | grep "blog: other was built for another BLog"'
t "an update of the package says that BLog stays" sh -c '/var/lib/dpkg/info/blog-dkms.postinst configure 0.1 2>&1 | tee out | grep "stays until the next boot" || { cat out; false; }'
t "the drivers go" rmmod c_blog below other
echo integrity >/sys/kernel/security/lockdown
t "under lockdown, a module whose key is not known is refused" off insmod driver/second-c.ko
t "the kernel says why" sh -c 'dmesg | grep -iE "lockdown.*unsigned module|module with unavailable key is rejected"'
dmesg | grep -iE "lockdown|unavailable key" | tail -n 2 | sed 's/^/guest: /'
t "dpkg removes the package" dpkg -P blog-dkms
t "then there is no module" off modinfo blog
t "nothing is left" off sh -c 'ls -d /var/lib/blog /var/lib/dkms/blog /usr/src/blog* /etc/kernel/*/blog-dkms | grep .'
echo "guest: 1..17"
"""
RUST_GUEST = r"""
t "modprobe blog" modprobe blog
t "the example loads" insmod rust_blog/rust_blog.ko
t "a snapshot is read" cp /sys/kernel/debug/blog/snapshot .
t "it is decoded" blog-decode -s rust_blog snapshot
sed 's/^/guest: /' said
t "it has records" grep " rust_blog " said
t "dpkg removes the packages" dpkg -P blog-dkms-rust blog-dkms
t "nothing is left" off sh -c 'ls -d /var/lib/blog /usr/src/blog* /etc/kernel/*/*blog* | grep .'
echo "guest: 1..7"
"""
GUEST_END = r"""
echo "guest: end after $(cut -d' ' -f1 /proc/uptime) s"
sync
echo o >/proc/sysrq-trigger
sleep 60
"""
UNIT = """\
[Service]
Type=oneshot
ExecStart=/usr/bin/blog-test
"""


@dataclass(frozen=True)
class Debian(vm.Kernel):
    """The kernel that a Debian came with."""

    @property
    def image(self) -> Path:
        return next(self.build.glob("vmlinuz-*"))

    def option(self, name: str) -> str:
        return "n"


@pytest.fixture(scope="module")
def debs(work: Path, sh: Run) -> Path:
    if os.getuid():
        pytest.skip("not root")
    sh(TOP / "scripts/package-deb", work / "debs")
    return work / "debs"


@pytest.mark.parametrize("suite", ["bookworm", "trixie", "sid", "rust"])
def test_packages(debs: Path, work: Path, suite: str, sh: Run, tap: Tap) -> None:
    root = Path(sh(TOP / "scripts/fetch", f"dkms-{suite}").splitlines()[-1]).resolve() / "root"
    inside, guest_script = (RUST_INSIDE, RUST_GUEST) if suite == "rust" else (INSIDE, GUEST)
    top = work / suite
    (top / "mnt").mkdir(parents=True)
    for name, text in {
        "inside": SHELL + inside,
        "guest": GUEST_SHELL + guest_script + GUEST_END,
        "blog-test.service": UNIT,
    }.items():
        (top / name).write_text(text)
    disk = top / "disk"
    with disk.open("wb") as file:
        file.truncate(IMAGE_GB << 30)
    said = sh("unshare", "--mount", "--net", "--pid", "--kill-child", "bash", "-euc", MACHINE, "-",
              root, top, disk, debs)  # fmt: skip
    tap(said.splitlines())
    drive = ["-drive", f"file={disk},format=raw,if=virtio,cache=unsafe"]
    args = "root=/dev/vda rw systemd.mask=serial-getty@ttyS0.service"
    machine = vm.Machine(2, 2048, args, more=drive)
    initrd = next(top.glob("initrd.img-*"))
    with vm.Guest(top / "guest-1", Debian(suite, top), initrd, machine, disks=0) as guest:
        guest.wait_end(PATIENCE)
    tap(re.findall(r"^guest: (.*)$", guest.text(), re.MULTILINE))
    assert "guest: end after" in guest.text(), guest.tail()
    disk.unlink()
