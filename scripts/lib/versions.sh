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
# --newer) and change KERNEL_SERIES. Of fio, libkdumpfile and the kernels stock-6.1 and so on (but not
# the one that Rust drivers are built for, stock-kernel), a newer version of the same series is
# accepted, as Debian removes a version when its successor is there: apt has checked its signature,
# but its hash isn't recorded.

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
stock-kernel,stock-7.3 trixie-backports linux-binary-7.3.4+deb13-amd64_7.3.4-1~bpo13+1_amd64.deb 7e3248d03a84dcdda88c567aa8c4038f2e7795d2dd167b112c56f8901b6f513f
stock-kernel,stock-7.3 trixie-backports linux-modules-7.3.4+deb13-amd64_7.3.4-1~bpo13+1_amd64.deb b3ea01922c9f133767a83cf6891c19b3693858ded617bf22d1e34f95382c08ea
stock-kernel,stock-7.3 trixie-backports linux-headers-7.3.4+deb13-amd64_7.3.4-1~bpo13+1_amd64.deb 1c43249a7b98aee4af60f2b822ddb04a9e96c1c9e8b013e5f74d3d9faf318699
stock-6.1          bookworm         linux-image-6.1.0-50-amd64_6.1.176-1_amd64.deb 7b5597492a0a65aee61985a492e6bcc3f2cde830072a0e3b3d8c7e1b90279bd3
stock-6.1          bookworm         linux-headers-6.1.0-50-amd64_6.1.176-1_amd64.deb 91a7929ce639f4199e9ff7f929236cdfdcb5511dba613af5094369e95ca241da
stock-6.1          bookworm         linux-headers-6.1.0-50-common_6.1.176-1_all.deb 7f6f7bee50efbc36dc02c976be5982b96cf36abe544f03f09368e98cfcc5ac3b
stock-6.1          bookworm         linux-kbuild-6.1_6.1.176-1_amd64.deb 667d2e1e94047031c3bcefa4bb67c2520bbc3cc1cce0aa592e67b108dbbead03
stock-6.12         trixie           linux-image-6.12.117+deb13-amd64_6.12.117-1_amd64.deb ca712d36790184f6ac125ce2b20ea4e2202ae6bb7817b7de268f1f0115ccda73
stock-6.12         trixie           linux-headers-6.12.117+deb13-amd64_6.12.117-1_amd64.deb e6b8a30d6c834fad8e5bd83d7bbe319279ed45f01d663926f886e353e004871a
stock-6.12,stock-6.12-cloud,stock-6.12-arm64 trixie linux-headers-6.12.117+deb13-common_6.12.117-1_all.deb ac1203a8778a01e09c0ef94d87a3607672c0fc3d5369540c3f1580269b277611
stock-6.12,stock-6.12-cloud,stock-6.12-rt,stock-6.12-arm64 trixie linux-kbuild-6.12.117+deb13_6.12.117-1_amd64.deb 821ae105a5e2d04c68ddc1a446b8b3554cb4e4581bf009c4165f94612047e3eb
stock-6.12-cloud   trixie           linux-image-6.12.117+deb13-cloud-amd64_6.12.117-1_amd64.deb e9893e5295d0549b8852611f12a4b8b5f6cc4b8128dcc2086b9847793b904ab7
stock-6.12-cloud   trixie           linux-headers-6.12.117+deb13-cloud-amd64_6.12.117-1_amd64.deb 3402da9b8fb0c2e1ff20d339ec74c88117ec1563409dde3ba57e14f2529eb9d8
stock-6.12-rt      trixie           linux-image-6.12.117+deb13-rt-amd64_6.12.117-1_amd64.deb f0b20c9cc1c409f781764eae73dcf478982d2af309c6cb8b8feac4fc4967a1e1
stock-6.12-rt      trixie           linux-headers-6.12.117+deb13-rt-amd64_6.12.117-1_amd64.deb 36483e84c4d307017684c777d6e66285a71a6bf1514a836fd9a030c5d49ad01c
stock-6.12-rt      trixie           linux-headers-6.12.117+deb13-common-rt_6.12.117-1_all.deb f1787624c2c06ad2339655c3ce2573e580c510196c4ff92cc5d721ecd0e22803
stock-6.12-arm64   trixie           linux-image-6.12.117+deb13-arm64_6.12.117-1_arm64.deb 73805585385c78e048e63fdfba66da36bab724c2cdebd96a3055a8a4f1ae287a
stock-6.12-arm64   trixie           linux-headers-6.12.117+deb13-arm64_6.12.117-1_arm64.deb 6e6637e1a67f50ff832900053ab25111bc971e18d630c9f60924d9dcbd59153f
stock-7.2          trixie-backports linux-binary-7.2.12+deb13-amd64_7.2.12-1~bpo13+1_amd64.deb 0d916c7f1310a7cb0567f235785d1c4511d894eb95e9810a2bc1f67e7ec18c2f
stock-7.2          trixie-backports linux-modules-7.2.12+deb13-amd64_7.2.12-1~bpo13+1_amd64.deb abd8aad34e82ae541ec596eafa9ac84bbcddf943c5de051d330516c3dff395d6
stock-7.2          trixie-backports linux-headers-7.2.12+deb13-amd64_7.2.12-1~bpo13+1_amd64.deb f4a0369d09122cf77410d651d7a1ecba8a861970013d566aafd79cdb7d261dd8
stock-7.2          trixie-backports linux-headers-7.2.12+deb13-common_7.2.12-1~bpo13+1_all.deb 8456354805802dd3f44839693e5eb966fc75ac1ef5af4a7ffb0b368245580ce5
stock-7.2          trixie-backports linux-kbuild-7.2.12+deb13_7.2.12-1~bpo13+1_amd64.deb 7b8867533c2fb100dacded82c2d2b4fc548841980f691b807d2d0b7d418f7356
stock-7.3          trixie-backports linux-headers-7.3.4+deb13-common_7.3.4-1~bpo13+1_all.deb 886647d4a7b05d2aedd22f8e16917c5b75e97e8946966d6bac48962c40b19a06
stock-7.3          trixie-backports linux-kbuild-7.3.4+deb13_7.3.4-1~bpo13+1_amd64.deb 248cce12d48862f7d38ca51efdb759c031192543d144f18bd36a5df37f156244
module-root        trixie           gcc-12,gcc-14,gcc-14-aarch64-linux-gnu,libc6-dev,libc6-dev-arm64-cross,make,libelf1t64,libssl3t64,pahole -
demo-root          trixie           qemu-system-x86,gcc,make,libelf1t64,libssl3t64,pahole -
debian             trixie           qemu-system-x86,makedumpfile,bindgen,rustc,rust-src,gcc,make,flex,bison,bc,libelf-dev,libssl-dev,cpio,kmod,perl,python3,patch,xz-utils,pahole -
dkms-bookworm      bookworm,bookworm-backports systemd-sysv,udev,initramfs-tools,zstd,dkms,gcc,make,kmod,openssl,linux-image-amd64,linux-headers-amd64 -
dkms-trixie        trixie,trixie-backports systemd-sysv,udev,initramfs-tools,zstd,dkms,gcc,make,kmod,openssl,linux-image-amd64,linux-headers-amd64 -
dkms-sid           sid systemd-sysv,udev,initramfs-tools,zstd,dkms,gcc,make,kmod,openssl,linux-image-amd64,linux-headers-amd64 -
dkms-rust          trixie,trixie-backports systemd-sysv,udev,initramfs-tools,zstd,dkms,kmod,linux-base/trixie-backports,linux-image-7.3.4+deb13-amd64,linux-headers-7.3.4+deb13-amd64,linux-source-7.3,rustc,rust-src,bindgen,gcc,make,flex,bison,bc,libelf-dev,libssl-dev,cpio,patch,pahole,xz-utils,python3,openssl -
busybox-static     trixie           busybox-static_1%3a1.37.0-6+b9_amd64.deb                 598a3fd92bdafc34cd81196b2952ad36e910e47a4ecf162f8ce5e8e262598e53
arm64              trixie           qemu-system-arm_1%3a10.0.13+ds-0+deb13u1_amd64.deb       babb8ab3c9f5f045184bd8c20604237d28c1b5e6a578d7f400566b9f257b59e7
arm64              trixie           busybox-static_1%3a1.37.0-6+b9_arm64.deb                 c833be48abfa16bc19c4966ec93e289ff1ce5d2f1476cad3a57bd105378cd15c
riscv64            trixie           qemu-system-riscv_1%3a10.0.13+ds-0+deb13u1_amd64.deb     80effad6aa07c09a7532e1b731c04ec9a32c545c2b9597320ec16ae59d2f34a2
riscv64            trixie           busybox-static_1%3a1.37.0-6+b9_riscv64.deb               4add476d2b185c5b487c285b38d790f0881a7e4a8e2ddde835f917e770eb8633
riscv64            trixie           opensbi_1.6-1_all.deb                                    dc4a43bd21a0ca11771ed8b19ee6fa8476d1d0f4976bd0b27c0357c699d27e1e
ubuntu-keyring     trixie           ubuntu-keyring_2023.11.28.1-0.2_all.deb              b2e7ed48431bf9e7978ae810bbdaf253093570d6e3f864e575b7c13554b81174
sos                trixie           sos_4.9.1-1_all.deb                              3f8a4c7cdbeef11763560d9810374208d0f516d5fc917ea26debd82b2136487c
ceph               bookworm         ceph-mon,ceph-osd,ceph-mds,ceph-common,procps,iproute2 -
lint               trixie           lintian,rpmlint -
nfs                bookworm         nfs-kernel-server,nfs-common,rpcbind,procps,iproute2 -
'

# downloads WHAT: prints its lines, without the first field
downloads() { awk -v w="$1" '("," $1 ",") ~ ("," w ",") { print $2, $3, $4 }' <<<"$DOWNLOADS"; }

read -r _ KERNEL_DEB _ < <(downloads "kernel-$KERNEL_SERIES") || :
