#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What reading costs: as many records of BLog and of ftrace, by read() and splice(),
# beside a copy of the snapshot in memory; and what a reader costs those who log.
# shellcheck disable=SC2154
. /bench/lib.sh

EVENT=$TRACING/events/blog_bench/event_on_2/enable
RAW=$TRACING/per_cpu/cpu0/trace_pipe_raw

# measure NAME WAY STEP FILE [OUT]
measure() { reading "$@" >>/out/reading || die "reading $1"; }

# fill WHAT: a round, and two to warm up
fill() { run "cases task 1 $records $1"; }

load_blog
facts
set_file $((size_kb * 2)) /sys/module/blog/parameters/max_kb
set_file 0 $BLOG/bench/enable
set_file 1 $BLOG/bench/clear
set_file "$size_kb" $BLOG/bench/size_kb
set_file "$size_kb" $BLOG/bench/ring_kb
set_file 1 $BLOG/bench/enable
set_file "$size_kb" $TRACING/buffer_size_kb
set_file 1 $TRACING/tracing_on
set_file 1 "$EVENT"
run "mark filling"
fill blog_on.2
cat $BLOG/bench/snapshot >/tmp/copy || die "snapshot"
round=0
while [ $round -lt "$rounds" ]; do
	for step in 4096 65536; do
		measure memory read $step /tmp/copy
		measure snapshot read $step $BLOG/bench/snapshot
		measure stream read $step $BLOG/bench/stream
	done
	measure stream splice 65536 $BLOG/bench/stream
	measure stream-to-file read 65536 $BLOG/bench/stream /tmp/out
	measure stream-to-file splice 65536 $BLOG/bench/stream /tmp/out
	for way in read splice; do
		echo >$TRACING/trace
		fill event_on.2
		measure ftrace $way 65536 $RAW
		echo >$TRACING/trace
		fill event_on.2
		measure ftrace-to-file $way 65536 $RAW /tmp/out
	done
	round=$((round + 1))
done
rm /tmp/copy /tmp/out
say "reading is measured"

# Those who log, alone and while somebody reads.
cases="cases task $rounds_each $n empty. loop. blog_on.2 event_on.2"
run "mark alone"
run "$cases"
for way in read splice; do
	reading - $way 65536 $BLOG/bench/stream &
	readers=$!
	reading - $way 65536 $RAW &
	readers="$readers $!"
	run "mark $way"
	run "$cases"
	# shellcheck disable=SC2086
	kill $readers
done
keep_results
