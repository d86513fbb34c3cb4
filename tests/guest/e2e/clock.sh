#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Logs by the clock that the command line names (blog_clock=), before and after what
# blog_way= names has happened to it, and before and after the machine has slept. Keeps
# what other clocks say meanwhile.
# shellcheck disable=SC2154
. /lib.sh

ALARM=/sys/class/rtc/rtc0/wakealarm

# look: which clock it is; the time since boot, without sleep, and of the day. It is said in
# the kernel's log, too, which has a clock of its own.
look() {
	name=$(get clock $BLOG/stats)
	mono=$(sed -n 's/^now at \([0-9]*\) nsecs$/\1/p' /proc/timer_list)
	boot=$(cut -d' ' -f1 /proc/uptime)
	echo "blog-clock: look" > /dev/kmsg
	echo "$name $boot $mono $(date -u +%Y-%m-%dT%H:%M:%S)" >> /out/looks
}

log() {
	look
	modprobe rust_blog || die "modprobe rust_blog"
	rmmod rust_blog || die "rmmod rust_blog"
	look
}

# torture PARAMETER...: has blog_torture do that, and nothing else
torture() {
	modprobe blog_torture seconds=1 workers=0 storm=0 irq_us=0 ipi_us=0 instances=0 "$@" ||
		die "modprobe blog_torture"
	torture_wait
}

# until_mono: reads, as BLog looks at the clock when somebody reads, until it has changed
until_mono() {
	until [ "$(get clock $BLOG/stats)" = mono ]; do
		cat $BLOG/snapshot > /dev/null
		sleep 0.1
	done
}

modprobe blog clock="$blog_clock" || die "modprobe blog"
log

case $blog_way in
distrust) # The kernel doesn't trust the counter any more.
	torture unstable_ms=1
	until_mono
	log ;;
xen) # As a guest of Xen that is moved: syscore operations without anything around them.
	torture syscore_ms=1
	log ;;
esac

# It starts to sleep, but something wakes it before it does.
set_file "$(cat /sys/power/wakeup_count)" /sys/power/wakeup_count
set_file +1 $ALARM
sleep 3
echo mem 2> /dev/null > /sys/power/state && die "it slept in spite of an alarm"
log

set_file 0 $ALARM
set_file +10 $ALARM
set_file mem /sys/power/state
log

cat $BLOG/snapshot > /out/snapshot
dmesg > /out/dmesg
exit 0
