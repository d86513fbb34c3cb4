#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Traces what allocates, wakes, sleeps and waits for locks, each with its stack, while
# tasks, softirqs and hard interrupts log: until pages turn, and as tasks that log for
# the first time. Leaves the trace and the counters in /out.
. /lib.sh

TRACE=/sys/kernel/tracing

set_file 0 $TRACE/tracing_on
set_file 16384 $TRACE/buffer_size_kb
set_file 1 $TRACE/options/stacktrace
for event in kmem/kmalloc kmem/kmem_cache_alloc kmem/mm_page_alloc sched/sched_waking \
	sched/sched_switch workqueue/workqueue_queue_work lock/contention_begin timer/timer_start; do
	set_file 1 $TRACE/events/$event/enable
done
# A preempted task doesn't sleep.
set_file 'prev_state & 0xff' $TRACE/events/sched/sched_switch/filter

modprobe blog || die "modprobe blog"
set_file 1 $TRACE/tracing_on
modprobe blog_torture seconds=2 instances=2 renew_ms=0 || die "modprobe blog_torture"
torture_wait
set_file 0 $TRACE/tracing_on
cat $TRACE/trace > /out/trace
cat $BLOG/torture*/stats > /out/stats
cat $BLOG/torture_storm/stats > /out/storm
exit 0
