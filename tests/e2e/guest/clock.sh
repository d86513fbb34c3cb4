#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Logs by the clock that the command line names (blog_clock=), before and after the
# machine has slept, and where it is the TSC that it trusts, after it has lost that
# trust. Keeps what other clocks say meanwhile.
# shellcheck disable=SC2154
. /lib.sh

ALARM=/sys/class/rtc/rtc0/wakealarm

# look: which clock it is; the time since boot, without sleep, and of the day
look() {
	name=$(sed -n 's/^clock //p' $BLOG/clock)
	mono=$(sed -n 's/^now .* mono \([0-9]*\) .*/\1/p' $BLOG/clock)
	boot=$(cut -d' ' -f1 /proc/uptime)
	echo "$name $boot $mono $(date -u +%Y-%m-%dT%H:%M:%S)" >> /out/looks
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
