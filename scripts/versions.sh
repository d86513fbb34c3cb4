# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Versions that BLog is developed and tested with, and what their files must
# hash to. A Debian suite moves on: a newer version there is used with a note,
# its signature checked by apt, its hash unknown here.

# Kernel series: package, suite, version and sha256 of the .deb
KERNEL_SERIES=${KERNEL_SERIES:-7.3}
case $KERNEL_SERIES in
7.3)
	KERNEL_SUITE=trixie-backports
	KERNEL_DEB=linux-source-7.3_7.3.4-1~bpo13+1_all.deb
	KERNEL_SHA256=703e369ddd4cce971452f5a593ee55df3a5c10c83caf0fa0df039633ed181ee3
	;;
7.2)
	KERNEL_SUITE=trixie-backports
	KERNEL_DEB=linux-source-7.2_7.2.12-1~bpo13+1_all.deb
	KERNEL_SHA256=73ca6c22599ba411ab3179642d33501ca2c90174e13c3c8d86e996ea1cbf2a8f
	;;
*)
	KERNEL_SUITE=sid
	KERNEL_DEB=linux-source-${KERNEL_SERIES}_unknown_all.deb
	KERNEL_SHA256=
	;;
esac

# The standard library's source, which must be of rustc's own version
RUST_SRC_SUITE=trixie-backports
RUST_SRC_DEB=rust-src_1.95.0+dfsg1-2~bpo13+1_all.deb
RUST_SRC_SHA256=7b76db5b880a77f9e52975d2baa6209d2f76d2c9c2789515c3088cb960e2c83b

# What reads vmcores for blog-decode
KDUMPFILE_SUITE=trixie
KDUMPFILE_TAR=libkdumpfile_0.5.4.orig.tar.gz
KDUMPFILE_SHA256=c09691c340ef875f37745610e26aab00551e1cfa626a20c3544b4f729fe5322c

LLVM_MAJOR=19
BINDGEN_VERSION=0.72.1
RUSTC_MIN=1.85.0
