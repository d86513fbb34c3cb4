# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# The versions that BLog is developed and tested with, and everything that scripts/fetch
# downloads. Other downloads are packages of the system's own Debian (scripts/setup), crates
# (Cargo.lock), and Python's packages (tests/requirements.txt).
#
# You decide about a newer kernel or another rustc's library: if Debian no longer has the file
# below, scripts/fetch fails and names the version that Debian has. To take that version:
#
#   scripts/fetch --newer kernel    writes version and hash here
#   make test                       shows what it breaks; commit both together
#
# For a new series, say 7.4, add a line "kernel-7.4" (version and hash may be wrong before
# --newer) and change KERNEL_SERIES. Of fio and libkdumpfile, a newer version is accepted: apt has
# checked its signature, but its hash isn't recorded.

KERNEL_SERIES=${KERNEL_SERIES:-7.3}
LLVM_MAJOR=19
RUSTC_MIN=1.85.0

# Item, suite, file, sha256
DOWNLOADS='
kernel-7.3         trixie-backports linux-source-7.3_7.3.4-1~bpo13+1_all.deb     703e369ddd4cce971452f5a593ee55df3a5c10c83caf0fa0df039633ed181ee3
kernel-7.2         trixie-backports linux-source-7.2_7.2.12-1~bpo13+1_all.deb    73ca6c22599ba411ab3179642d33501ca2c90174e13c3c8d86e996ea1cbf2a8f
rust-src           trixie-backports rust-src_1.95.0+dfsg1-2~bpo13+1_all.deb      7b76db5b880a77f9e52975d2baa6209d2f76d2c9c2789515c3088cb960e2c83b
cargo-mutants      crates.io        cargo-mutants-27.1.0.crate                   07072e7bcdeb425d5e5fdbfd9f15a2c749e23cb2edf5ef40aee5876760ae1cf9
libkdumpfile       trixie           libkdumpfile_0.5.4.orig.tar.gz               c09691c340ef875f37745610e26aab00551e1cfa626a20c3544b4f729fe5322c
fio                bookworm         fio_3.33.orig.tar.gz                         d2410e13e0f379d061d077cc5ae325835bb7c6186aa7bafc1df954cbc9b014fc
root               bookworm         man-db,zsh,fish                              -
stock-kernel       trixie-backports linux-binary-7.3.4+deb13-amd64_7.3.4-1~bpo13+1_amd64.deb 7e3248d03a84dcdda88c567aa8c4038f2e7795d2dd167b112c56f8901b6f513f
stock-kernel       trixie-backports linux-modules-7.3.4+deb13-amd64_7.3.4-1~bpo13+1_amd64.deb b3ea01922c9f133767a83cf6891c19b3693858ded617bf22d1e34f95382c08ea
stock-kernel       trixie-backports linux-headers-7.3.4+deb13-amd64_7.3.4-1~bpo13+1_amd64.deb 1c43249a7b98aee4af60f2b822ddb04a9e96c1c9e8b013e5f74d3d9faf318699
debian             trixie           qemu-system-x86,makedumpfile,bindgen,rustc,rust-src,gcc,make,flex,bison,bc,libelf-dev,libssl-dev,cpio,kmod,perl,python3,patch,xz-utils,pahole -
dkms-root          trixie,trixie-backports systemd-sysv,udev,initramfs-tools,zstd,dkms,kdump-tools,makedumpfile,linux-base/trixie-backports,linux-image-7.3.4+deb13-amd64,linux-headers-7.3.4+deb13-amd64,linux-source-7.3,rustc,rust-src,bindgen,gcc,make,flex,bison,bc,libelf-dev,libssl-dev,cpio,patch,pahole,xz-utils,python3,openssl -
busybox-static     trixie           busybox-static_1%3a1.37.0-6+b9_amd64.deb                 598a3fd92bdafc34cd81196b2952ad36e910e47a4ecf162f8ce5e8e262598e53
arm64              trixie           qemu-system-arm_1%3a10.0.13+ds-0+deb13u1_amd64.deb       babb8ab3c9f5f045184bd8c20604237d28c1b5e6a578d7f400566b9f257b59e7
arm64              trixie           busybox-static_1%3a1.37.0-6+b9_arm64.deb                 c833be48abfa16bc19c4966ec93e289ff1ce5d2f1476cad3a57bd105378cd15c
riscv64            trixie           qemu-system-riscv_1%3a10.0.13+ds-0+deb13u1_amd64.deb     80effad6aa07c09a7532e1b731c04ec9a32c545c2b9597320ec16ae59d2f34a2
riscv64            trixie           busybox-static_1%3a1.37.0-6+b9_riscv64.deb               4add476d2b185c5b487c285b38d790f0881a7e4a8e2ddde835f917e770eb8633
riscv64            trixie           opensbi_1.6-1_all.deb                                    dc4a43bd21a0ca11771ed8b19ee6fa8476d1d0f4976bd0b27c0357c699d27e1e
ubuntu-keyring     trixie           ubuntu-keyring_2023.11.28.1-0.2_all.deb              b2e7ed48431bf9e7978ae810bbdaf253093570d6e3f864e575b7c13554b81174
sos                trixie           sos_4.9.1-1_all.deb                              3f8a4c7cdbeef11763560d9810374208d0f516d5fc917ea26debd82b2136487c
ceph               bookworm         ceph-mon,ceph-osd,ceph-mds,ceph-common,procps,iproute2 -
nfs                bookworm         nfs-kernel-server,nfs-common,rpcbind,procps,iproute2 -
'

# downloads WHAT: prints its lines, without the first field
downloads() { awk -v w="$1" '("," $1 ",") ~ ("," w ",") { print $2, $3, $4 }' <<<"$DOWNLOADS"; }

read -r _ KERNEL_DEB _ < <(downloads "kernel-$KERNEL_SERIES") || :
