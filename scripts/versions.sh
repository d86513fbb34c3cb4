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
# --newer) and change KERNEL_SERIES. For other files, a newer version is accepted with a note:
# apt has checked its signature, but its hash isn't recorded.

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
ceph               bookworm         ceph-mon,ceph-osd,ceph-mds,ceph-common,procps,iproute2 -
lttng              sid              libc6_2.43-7_amd64.deb                       5c71715c51103beb4fbba9fe9f8dff604af6610dfa71c70bff342f54a7860803
lttng              sid              libzstd1_1.5.7+dfsg-4_amd64.deb              93e7930e4c25b918f1dd980cc1c6d4487654a248f5fa71eacb976ed7bbe954bd
lttng              sid              zlib1g_1%3a1.3.dfsg+really1.3.2-4_amd64.deb  8506ce550a81ac14b047608e0df121037d9cbb10c3cc28446f68cf8c1d9d31ce
lttng              sid              lttng-modules-dkms_2.16.0-1_all.deb          a349c53200220200045a5a60bea1bab83514bd99e45f6f44115f10d8ea590ea1
lttng              sid              lttng-tools_2.16.0-4_amd64.deb               6a80a2a9f03d56112e033abb3333c9beeb7d722453afcf25ad07f2bfaff48d17
lttng              sid              libgcc-s1_16.2.0-4_amd64.deb                 d251ea642c3795e8723ac2b9eeebe511467ca04590ba70f3d555a7616787d7e3
lttng              sid              libkmod2_34.2-2+b2_amd64.deb                 2a2a1da5c39c769fe7185a463404dabd979a7026c92eef0b553c2cd2100ed588
lttng              sid              liblttng-ctl0t64_2.16.0-4_amd64.deb          dd7972c33e1b54c0ce72e387371fb9a84efafd207c534b96e9e02b53e98ccfdd
lttng              sid              liblttng-ust-common1t64_2.16.0-2_amd64.deb   89c9ec4243ad50a79a2f42f057c95058126e4e9cb386d6cd29bb709456bbc763
lttng              sid              liblttng-ust-ctl6_2.16.0-2_amd64.deb         d077e23a4670583c8c2b07dbaf7977c433a4e50b8f604f81ac859643171afa0d
lttng              sid              libnuma1_2.0.19-1+b2_amd64.deb               c4175eb2a991806b5f683f7b2a6a9e444f310058763070b30417e1f1021cf04c
lttng              sid              libpopt0_1.19+dfsg-2+b2_amd64.deb            52a8b72fc1deded2615fd8a0f2b170d3e7bd2b1aa577f92d5b1b9b09357c0e2c
lttng              sid              libssl3t64_3.6.5-1_amd64.deb                 0a0ec84fe860c5c93c74d53cbb071aea0793327a3761b483080e9d7b73c21b37
lttng              sid              libstdc++6_16.2.0-4_amd64.deb                cef6654bba1daece0bc0dbe0e3f69fa5a26eb6ba139f3536e6f4806bd787f3e7
lttng              sid              liburcu8t64_0.15.7-1_amd64.deb               23442c498551557761e1fe0c47d9ee74bdd46e74cc7bf3422c6b58b5464a5567
lttng              sid              libxml2-16_2.15.4+dfsg-1+b1_amd64.deb        f2b4d9acff743ff71f5409ae301452ebbb37d0d8709cf46fc9ec755d7df803ff
'

# downloads WHAT: prints its lines, without the first field
downloads() { awk -v w="$1" '("," $1 ",") ~ ("," w ",") { print $2, $3, $4 }' <<<"$DOWNLOADS"; }

read -r _ KERNEL_DEB _ < <(downloads "kernel-$KERNEL_SERIES") || :
