#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The same records three times, one logger after the other, in one boot: calls of two
# scalars to BLog, to a TRACE_EVENT and to trace_printk(). What each has is left in
# /out, as its own tools leave it.
# shellcheck disable=SC2154
. /bench/lib.sh

export PATH=/bin:/usr/bin LD_LIBRARY_PATH=/trace-cmd
load_blog
mount -t tracefs trace $TRACING || die "no tracefs"

# calls WHAT: $records calls, half (u32, u64), half (u32, u32): in each turn ten rounds, as
# the module has two to warm up, too. In between, memory for a ring may be made.
calls() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		run "cases task 8 $((records / 400)) $1.2 $1.2x32"
		sleep 0.1
	done
}

set_file $((512 << 10)) /sys/module/blog/parameters/max_kb
set_file $((256 << 10)) $BLOG/bench/size_kb
set_file $((256 << 10)) $BLOG/bench/ring_kb
set_file 1 $BLOG/bench/clear
calls blog_on
cat $BLOG/bench/snapshot >/out/blog.snap || die "no snapshot"
set_file 1 $BLOG/bench/clear
say "BLog"

set_file mono $TRACING/trace_clock
set_file $((256 << 10)) $TRACING/buffer_size_kb
# ftrace FILE CASE: the buffer of one kind of event, as trace.dat
ftrace() {
	echo >$TRACING/trace
	set_file 1 $TRACING/tracing_on
	calls "$2"
	set_file 0 $TRACING/tracing_on
	cat $TRACING/per_cpu/cpu0/stats >"/out/$1.stats"
	trace-cmd extract --compression none -o "/out/$1.dat" >/tmp/trace-cmd.log 2>&1 ||
		{ cat /tmp/trace-cmd.log; die "trace-cmd extract"; }
}
for event in 2 2x32; do set_file 1 "$TRACING/events/blog_bench/event_on_$event/enable"; done
ftrace event event_on
set_file 0 $TRACING/events/blog_bench/enable
ftrace printk trace_printk
set_file 64 $TRACING/buffer_size_kb
say "ftrace"
