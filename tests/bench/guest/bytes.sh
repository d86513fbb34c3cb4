# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2154
#
# How many records fit: each logger's buffer of 1 MiB is filled with one kind of
# record until it has overwritten all else, and what it holds is counted, here or
# on the host. Sourced by scripts in the guest.

# More than enough of the smallest records to overwrite everything, in one round
# (and two to warm up).
fill=60000

# bytes_of_records: leaves snapshots and counts in /out/bytes
bytes_of_records() {
	mkdir -p /out/bytes
	run "mark bytes"
	set_file 1024 $BLOG/bench/ring_kb
	for shape in 0 1 2 2x32 4 8 rnull str11 str64; do
		run "cases task 1 $fill blog_on.$shape"
		cat $BLOG/bench/snapshot >/out/bytes/blog.$shape || die "snapshot of $shape"
	done
	set_file 256 $BLOG/bench/ring_kb

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

	[ $lttng_running = yes ] || return 0
	lttng destroy bench >/dev/null
	for more in no tid; do
		lttng_channel $more
		for shape in 1 2 2x32 4 8 rnull str11 str64; do
			run "cases task 1 $fill lttng.$shape"
			lttng_bytes "$more-$shape"
		done
		lttng destroy bench >/dev/null
	done
}

# lttng_channel no|tid: 1 MiB; with the thread id in each record or without
lttng_channel() {
	{
		lttng create bench --snapshot --output=/out/lttng &&
			lttng enable-channel --kernel --overwrite --subbuf-size=256k --num-subbuf=4 bench &&
			{ [ "$1" = no ] || lttng add-context --kernel --type=tid --channel=bench; } &&
			lttng enable-event --kernel --channel=bench 'lttng_*' &&
			lttng start
	} >>/tmp/lttng.log 2>&1 || die "LTTng's channel of 1 MiB"
}
