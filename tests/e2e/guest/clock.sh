#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Logs by the clock that the command line names (blog_clock=), before and after the
# machine has slept, and where it is the TSC that it trusts, after it has lost that
# trust. Keeps what other clocks say meanwhile.
# shellcheck disable=SC2154
. /lib.sh

ALARM=/sys/class/rtc/rtc0/wakealarm

# stuck KEY: what tasks says of a thread that has logged, and waits for a lock since
stuck() { sed -n "/ comm crash_abba\/1\$/s/.* $1 \([0-9]*\) .*/\1/p" $BLOG/tasks; }

# look: which clock it is; the time since boot, without sleep, and of the day; and how
# long that thread is silent
look() {
	name=$(sed -n 's/^clock //p' $BLOG/clock)
	mono=$(sed -n 's/^now .* mono \([0-9]*\) .*/\1/p' $BLOG/clock)
	boot=$(cut -d' ' -f1 /proc/uptime)
	echo "$name $boot $mono $(date -u +%Y-%m-%dT%H:%M:%S) $(stuck silent_ms)" >> /out/looks
}

log() {
	look
	modprobe rust_blog || die "modprobe rust_blog"
	rmmod rust_blog || die "rmmod rust_blog"
	look
}

modprobe blog clock=sundial 2> /dev/null && die "clock=sundial"
dmesg | grep 'blog: clock must be auto, tsc or mono' > /out/refused
modprobe blog clock="$blog_clock" || die "modprobe blog"
modprobe blog_crash || die "modprobe blog_crash"
set_file abba /sys/module/blog_crash/parameters/scene
sleep 1
log

# It is told to sleep, but something wakes it before it does.
set_file "$(cat /sys/power/wakeup_count)" /sys/power/wakeup_count
set_file +1 $ALARM
sleep 3
echo mem 2> /dev/null > /sys/power/state && die "it slept in spite of an alarm"
log

set_file 0 $ALARM
set_file +10 $ALARM
set_file mem /sys/power/state
log

# Who is silent is called stalled when that was so for long enough, awake.
set_file $(($(stuck silent_ms) / 1000 + 3)) /sys/module/blog/parameters/stalled_secs
stuck stalled > /out/stalled
sleep 4
stuck stalled >> /out/stalled

if grep -qx 'tsc good' $BLOG/clock; then
	modprobe blog_torture seconds=1 unstable_ms=1 workers=0 storm=0 irq_us=0 ipi_us=0 \
		instances=0 || die "modprobe blog_torture"
	torture_wait
	# Whoever reads has it looked at.
	cat $BLOG/snapshot > /dev/null
	until grep -qx 'clock mono' $BLOG/clock; do sleep 0.1; done
	log
fi

cat $BLOG/clock > /out/clock
cat $BLOG/snapshot > /out/snapshot
exit 0
