#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Twenty components that were logged to, and then are not. Prints TAP for the
# runner.
. /lib.sh

# check NAME COMMAND...
check() {
	name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name"; fi
}

wakeups() { get wakeups $BLOG/stats; }

# quiet SECONDS: nothing of BLog runs for so long
quiet() {
	before=$(wakeups)
	sleep "$1"
	after=$(wakeups)
	say "$((after - before)) wake-ups in $1 s, $after since the start"
	[ "$after" = "$before" ]
}

# burst RUN: loads the module, which logs for a second
burst() {
	modprobe blog_torture run="$1" seconds=1 instances=20 renew_ms=0 storm=0 irq_us=0 ipi_us=0 ||
		die "modprobe blog_torture"
	torture_wait
}

burst 0
check "there are 20 components and more" [ "$(get components $BLOG/stats)" -ge 20 ]
check "under load it runs" [ "$(wakeups)" -gt 10 ]
sleep 10
check "10 s after the last record, nothing of BLog runs for 60 s" quiet 60

# Reading is no reason to run; to wait for news is.
cat $BLOG/snapshot > /dev/null
check "nor after a snapshot" quiet 3
cat $BLOG/stream > /dev/null &
reader=$!
sleep 1
check "who waits for a stream has somebody look" [ "$(wakeups)" -gt "$after" ]
kill $reader
wait $reader
sleep 1
check "and when he is gone, nobody does" quiet 3

rmmod blog_torture || die "rmmod blog_torture"
before=$(wakeups)
burst 1
check "and when something is logged again, it runs again" [ "$(wakeups)" -gt "$before" ]
sleep 10
check "until nothing is" quiet 3
tap_end
