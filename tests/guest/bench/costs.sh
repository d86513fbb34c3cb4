#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BLog beside its peers: costs, and where instructions are counted also bytes, all in one boot.
# A kernel without tracing has BLog's costs alone. Parameters come in /params.
# shellcheck disable=SC2154
. /lib.sh
. /params
TRACING=/sys/kernel/tracing
DYNAMIC=/sys/kernel/debug/dynamic_debug/control
BENCH=/sys/kernel/debug/blog_bench
shapes="0 2 4 8 str11 str64"

# run LINE: see tests/modules/bench/main.c
run() { set_file "$1" $BENCH/run; }

# load MODULE [PARAMETER]: from / where it stands there
load() {
	if [ -e "/$1.ko" ]; then insmod "/$1.ko" "${2-}"; else modprobe "$@"; fi || die "load $1"
}

# fill WHAT SHAPE: more than enough of the smallest records to overwrite a buffer of 1 MiB
fill() { run "cases task 1 60000 $1.$2"; }

if [ ! -d "$BLOG" ]; then
	if [ -e /zlib_deflate.ko ]; then load zlib_deflate; fi
	# QEMU's counter is the clock that BLog has on a real machine; the kernel doesn't know that.
	load blog "${clock:+clock=$clock}"
fi
load blog_bench
tracing=no
if [ -e $TRACING/tracing_on ]; then
	tracing=yes
	# As much for each ring, so that all of them stay in the caches alike.
	set_file 256 $TRACING/buffer_size_kb
	set_file 1 $TRACING/tracing_on
	for event in "$TRACING"/events/blog_bench/event_on_*/enable; do set_file 1 "$event"; done
fi
if [ -e $DYNAMIC ]; then set_file "func bench_pr_debug_on_* +p" $DYNAMIC; fi
dmesg -n 1

all="empty. loop. blog_ clock_ none. none_ trace_printk. event_ pr_debug_"
run "cases task $rounds $n $all"
for context in softirq hardirq; do
	run "cases $context $rounds $n empty. loop. blog_on. trace_printk. event_on."
done
say "costs are measured"

if [ "$icount" = yes ]; then
	# Single records, for which the clock of a machine is too coarse
	run "each 4000"
	run "new 20"
	mkdir /out/bytes
	run "mark bytes"
	if [ -d "$BLOG/bench" ]; then
		set_file 1024 "$BLOG/bench/ring_kb"
		for shape in $shapes; do
			fill blog_on "$shape"
			cat "$BLOG/bench/snapshot" > "/out/bytes/blog.$shape" || die "snapshot"
		done
		set_file 256 "$BLOG/bench/ring_kb"
	fi
	if [ $tracing = yes ]; then
		set_file 1024 $TRACING/buffer_size_kb
		cat $TRACING/buffer_size_kb > /out/bytes/buffer_size_kb
		for what in trace_printk event_on; do
			for shape in $shapes; do
				[ $what.$shape != event_on.0 ] || continue
				set_file "" $TRACING/trace
				fill $what "$shape"
				cat $TRACING/per_cpu/cpu0/stats > "/out/bytes/$what.$shape"
			done
		done
	fi
	say "bytes are measured"
fi
if [ "$icount" = yes ] && [ -d "$BLOG/bench" ]; then
	# More tasks than the component has pages, which is as large as most are
	run "mark default_size"
	set_file 1024 "$BLOG/bench/size_kb"
	run "turns 1024 2 40960 empty.2 blog_on.2"
	set_file 131072 /sys/module/blog/parameters/max_kb
	run "many 900"
	say "many tasks and components are measured"
elif [ "$icount" = no ]; then
	# Caches are what matters here. Each task has some pages by the second round.
	run "turns 1024 20 40960 empty.2 loop.2 blog_on.2 event_on.2"
fi
cat $BENCH/results > /out/results
{
	echo "clock $(get clock "$BLOG/stats")"
	echo "kernel $(uname -r)"
} > /out/facts
