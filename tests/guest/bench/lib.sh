# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2154
#
# Shared by the benchmark's scripts in the guest, which source it. Parameters come
# in /bench/params.
. /bench/params
BLOG=/sys/kernel/debug/blog
BENCH=/sys/kernel/debug/blog_bench
TRACING=/sys/kernel/tracing
CONTROL=/sys/kernel/debug/dynamic_debug/control

say() { echo "guest: $*"; }

die() {
	say "FAILED: $*"
	exit 1
}

# set_file VALUE FILE
set_file() { echo "$1" >"$2" || die "$1 > $2"; }

# load MODULE [PARAMETER...]: from /lib/modules, or what stands in /
load() {
	# What BLog needs of the kernel's modules
	if [ "$1" = blog ] && [ -e /zlib_deflate.ko ]; then insmod /zlib_deflate.ko; fi
	if [ -e "/$1.ko" ]; then insmod "/$1.ko" "${2-}"; else modprobe "$@"; fi ||
		die "loading $1"
}

# load_blog: BLog and the module that measures. QEMU's counter is the clock that BLog
# has on a real machine, but the kernel doesn't know that.
load_blog() {
	[ -d $BLOG ] || load blog "${clock:+clock=$clock}"
	load blog_bench
}

# run LINE: see tests/modules/bench/main.c
run() { echo "$1" >$BENCH/run || die "run $1"; }

# facts: what this boot is
facts() {
	{
		echo "setup $setup"
		echo "boot $(cat /proc/sys/kernel/random/boot_id)"
		echo "icount $icount"
		grep '^clock [a-z]' $BLOG/stats || die "$BLOG/stats names no clock"
		echo "release $(uname -r)"
		[ ! -d $TRACING/events ] || echo "tracing yes"
		[ ! -e $CONTROL ] || echo "dynamic_debug yes"
	} >/out/facts
}

# keep_results: all samples, to the host
keep_results() {
	cat $BENCH/results >/out/results || die "no results"
	cat $BLOG/stats >/out/blog-stats
}
