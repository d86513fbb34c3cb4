#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A small machine, and components that may have more than all of its memory: BLog
# must leave a sixteenth of it to others, bring no OOM killer and say nothing; and
# what it has taken it must give back to who needs it. Parameters come in
# /torture/params.
# shellcheck disable=SC2154,SC2034
. /torture/lib.sh
. /torture/params

kb() { sed -n "s/^$1: *\\([0-9]*\\) kB/\\1/p" /proc/meminfo; }

# complaints: what an allocation that went wrong leaves in the log
complaints() { dmesg | grep -i -e 'out of memory' -e oom -e 'allocation failure'; }

total=$(kb MemTotal)
max_kb=$((total * 4))
prepare torture/size_kb="$total" torture/ring_kb="$total" torture_fast/size_kb="$total" \
	torture_fast/ring_kb="$total" torture_storm/size_kb="$total" torture_crowd/size_kb="$total" \
	torture_crowd/enable=1
modprobe blog_torture seconds="$seconds" workers=2 instances=8 payload=200 ||
	die "modprobe blog_torture"
least="$total"
while read -r state < $TORTURE/state; [ "$state" != "done" ]; do
	now=$(kb MemAvailable)
	[ "$now" -ge "$least" ] || least=$now
done
used=$(get used_kb $BLOG/stats)
say "of $total KiB, BLog has taken $used; $least were available at least"
[ "$used" -gt $((total / 4)) ] || die "it could have had more"
# A sixteenth is left to others, who take of it, on a busy host more at a time.
[ "$least" -gt $((total / 64)) ] || die "it has taken too much"
! complaints || die "the kernel complains"

# Somebody needs all that is available, and half of what BLog has.
mkdir -p /hog
mount -t tmpfs -o size=100% none /hog || die "mount"
dd if=/dev/zero of=/hog/file bs=1024 count=$(($(kb MemAvailable) + used / 2)) 2>/dev/null ||
	die "no memory for others"
left=$(get used_kb $BLOG/stats)
say "it has given $((used - left)) KiB back"
[ "$left" -lt "$used" ] || die "it has given nothing back"
! complaints || die "the kernel complains"
umount /hog

# What is in the rings has to fit into memory once more.
settings torture/size_kb=4096 torture_fast/size_kb=4096 torture_storm/size_kb=4096 \
	torture_crowd/size_kb=4096
truth end
verdict
rmmod blog_torture || die "rmmod blog_torture"
