# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2154
#
# How many records fit: one kind of record fills each logger's buffer of 1 MiB until
# it holds nothing else. Then its records are counted, here or on the host. Sourced by
# scripts in the guest.

# More than enough of the smallest records to overwrite everything, in one round
# (and two to warm up).
fill=60000

# bytes_of_blog: leaves snapshots in /out/bytes
bytes_of_blog() {
	mkdir -p /out/bytes
	run "mark bytes"
	set_file 1024 $BLOG/bench/ring_kb
	for shape in 0 1 2 2x32 4 8 rnull str11 str64; do
		run "cases task 1 $fill blog_on.$shape"
		cat $BLOG/bench/snapshot >/out/bytes/blog.$shape || die "snapshot of $shape"
	done
	set_file 256 $BLOG/bench/ring_kb
}

# bytes_of_ftrace: leaves counts in /out/bytes
bytes_of_ftrace() {
	set_file 1024 $TRACING/buffer_size_kb
	for what in trace_printk event_on; do
		for shape in 0 1 2 2x32 4 8 rnull str11 str64; do
			[ $what.$shape != event_on.0 ] || continue
			echo >$TRACING/trace
			run "cases task 1 $fill $what.$shape"
			cat $TRACING/per_cpu/cpu0/stats >/out/bytes/$what.$shape
		done
	done
	cat $TRACING/buffer_size_kb >/out/bytes/buffer_size_kb
	echo >$TRACING/trace
	set_file 256 $TRACING/buffer_size_kb
}
