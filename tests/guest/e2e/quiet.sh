#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Twenty components with records, to which nobody logs any more. Leaves in /out a trace
# of timers that start meanwhile. Prints TAP for the runner.
. /lib.sh

TRACE=/sys/kernel/tracing

# check NAME COMMAND...
check() {
	name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name"; fi
}

wakeups() { get wakeups $BLOG/stats; }

# woken SECONDS: how often something of BLog runs in so many seconds
woken() {
	before=$(wakeups)
	sleep "$1"
	echo $(($(wakeups) - before))
}

set_file 0 $TRACE/tracing_on
set_file 4096 $TRACE/buffer_size_kb
set_file 1 $TRACE/options/stacktrace
for event in timer/timer_start timer/hrtimer_start \
	workqueue/workqueue_execute_start workqueue/workqueue_execute_end; do
	set_file 1 $TRACE/events/$event/enable
done
modprobe blog || die "modprobe blog"
modprobe blog_torture seconds=1 instances=20 renew_ms=0 storm=0 irq_us=0 ipi_us=0 ||
	die "modprobe blog_torture"
torture_wait
check "there are 20 components and more" [ "$(get components $BLOG/stats)" -ge 20 ]
sleep 5
set_file 1 $TRACE/tracing_on
# Clocks are noted about once a second, when a CPU isn't idle anyway.
check "nothing runs more often than once a second" [ "$(woken 30)" -le 31 ]
set_file 0 $TRACE/tracing_on
cat $TRACE/trace > /out/trace

# Reading is no reason to run, and a waiting reader looks again without it.
cat $BLOG/snapshot > /dev/null
check "nor after a snapshot" [ "$(woken 3)" -le 4 ]
cat $BLOG/stream > /dev/null &
reader=$!
looks() { get voluntary_ctxt_switches: /proc/$reader/status; }
# It reads first what there is.
for _ in $(seq 30); do
	[ "$(looks)" -le 1 ] || break
	sleep 1
done
before=$(looks)
sleep 5
looks=$(($(looks) - before))
say "it has looked $looks times in 5 s"
check "who looks again, some times a second" [ $looks -gt 10 ]
kill $reader
wait $reader
sleep 1
check "nor when it is gone" [ "$(woken 3)" -le 4 ]
rmmod blog_torture || die "rmmod blog_torture"
tap_end
