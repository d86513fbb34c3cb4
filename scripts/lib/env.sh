# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The environment of kernel builds: the compiler, bindgen, and the source of
# Rust's standard library.

TOOLS=$BLOG_CACHE/tools
# Python with the packages of tests/requirements.txt
# shellcheck disable=SC2034 # for scripts that source this
PYTHON=$TOOLS/python/bin/python

# kernel_env: exports the variables that kbuild needs
kernel_env() {
	export PATH="$TOOLS/debian/bin:/usr/lib/llvm-$LLVM_MAJOR/bin:$PATH"
	RUST_LIB_SRC=$(rust_lib_src)
	export RUST_LIB_SRC
	# The same source gives the same build ID on any machine at any time; no
	# name of this machine gets into a kernel.
	export KBUILD_BUILD_TIMESTAMP='2026-01-01 00:00:00 UTC'
	export KBUILD_BUILD_USER=blog KBUILD_BUILD_HOST=blog
	unset MAKEFLAGS MFLAGS MAKELEVEL KBUILD_OUTPUT CROSS_COMPILE ARCH O V
}

# rust_version: "1.95.0"
rust_version() { rustc --version 2>/dev/null | awk '{ print $2 }'; }

# rust_lib_src: where the library source for this rustc is, if anywhere
rust_lib_src() {
	local v own
	v=$(rust_version)
	own=$(rustc --print sysroot)/lib/rustlib/src/rust/library
	if [[ -f $own/core/src/lib.rs ]]; then
		echo "$own"
	elif [[ -f $TOOLS/rust-src-$v/usr/src/rustc-$v/library/core/src/lib.rs ]]; then
		echo "$TOOLS/rust-src-$v/usr/src/rustc-$v/library"
	fi
}
