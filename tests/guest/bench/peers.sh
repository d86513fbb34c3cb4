#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BLog beside its peers: costs, fio on rnull, and where instructions are counted
# bytes, all in one boot. A kernel without tracing has BLog's costs alone;
# /out/facts says what it has.
# shellcheck disable=SC2154
. /bench/lib.sh
. /bench/bytes.sh
. /bench/fio.sh

load_blog
tracing=no
[ -e $TRACING/tracing_on ] && tracing=yes
facts
if [ $tracing = yes ]; then
	# As much for each ring, so that all of them stay in the caches alike.
	set_file 256 $TRACING/buffer_size_kb
	set_file 1 $TRACING/tracing_on
	for event in "$TRACING"/events/blog_bench/event_on_*/enable; do set_file 1 "$event"; done
fi
if [ -e $CONTROL ]; then set_file "func bench_pr_debug_on_* +p" $CONTROL; fi
dmesg -n 1

all="empty. loop. blog_ clock_ function_ none. none_ trace_printk. event_ pr_debug_"
run "cases task $rounds $n $all"
run "cases softirq $rounds $n empty. loop. blog_on. trace_printk. event_on."
run "cases hardirq $rounds $n empty. loop. blog_on. trace_printk. event_on."
if [ "$icount" != yes ]; then
	# Caches are what matters here. Each task has some pages by the second round.
	for tasks in 1 64 256 1024; do
		run "turns $tasks $turn_rounds 40960 empty.2 loop.2 blog_on.2 trace_printk.2 event_on.2"
	done
fi
if [ $tracing = yes ]; then
	# ftrace's own clock may cost nothing (UML counts ticks), so also with the one
	# that BLog has where it has no counter.
	run "mark mono"
	set_file mono $TRACING/trace_clock
	run "cases task $rounds $n empty. loop. blog_on. trace_printk. event_on."
	set_file local $TRACING/trace_clock
fi
say "costs are measured"

if [ "$icount" = yes ]; then
	# Single records, for which the clock of a machine is too coarse
	run "each 4000"
	run "new 20"
	# The component of Rust's calls
	[ ! -d $BLOG/bench ] || bytes_of_blog
	if [ $tracing = yes ]; then bytes_of_ftrace; fi
	say "bytes are measured"
fi
if [ "$icount" = yes ] && [ -d $BLOG/bench ]; then
	# More tasks than the component has pages, which is as large as most are
	run "mark default_size"
	set_file 1024 $BLOG/bench/size_kb
	run "turns 1024 2 40960 empty.2 blog_on.2"
	set_file 131072 /sys/module/blog/parameters/max_kb
	run "many 900"
	say "many tasks and components are measured"
fi
keep_results

if [ "$fio" = yes ]; then
	set_file 0 "$TRACING/events/blog_bench/enable"
	fio_rounds
fi
