#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A small machine, and components that may have more than all of its memory: each
# starts with no more than it leaves to others, the OOM killer doesn't run, and the
# kernel's log only has what a component lacks. When others take the rest, nothing
# changes. Parameters come in /torture/params.
# shellcheck disable=SC2154,SC2034
. /torture/lib.sh
. /torture/params

kb() { sed -n "s/^$1: *\\([0-9]*\\) kB/\\1/p" /proc/meminfo; }

# complaints: what an allocation that went wrong leaves in the log
complaints() { dmesg | grep -i -e 'out of memory' -e oom -e 'allocation failure'; }

total=$(kb MemTotal)
max_kb=$((total * 4))
before=$(kb MemAvailable)
# What torture_fast asks for is not there; what there is, it gets when it is switched on.
prepare torture/size_kb=$((total / 16)) torture/ring_kb="$total" torture_storm/size_kb=$((total / 16)) \
	torture_fast/enable=0 torture_fast/clear=1 torture_fast/size_kb="$total" \
	torture_fast/ring_kb="$total" torture_fast/enable=1
modprobe blog_torture seconds="$seconds" workers=2 instances=8 payload=200 ||
	die "modprobe blog_torture"
used=$(get used_kb $BLOG/stats) left=$(kb MemAvailable) missing=$(get missing_kb $BLOG/torture_fast/stats)
say "of $before KiB, BLog has taken $used; $left are available, torture_fast lacks $missing"
[ "$used" -gt $((before / 3)) ] || die "it could have had more"
[ "$left" -gt $((before / 4)) ] || die "it has taken too much"
[ "$missing" -gt 0 ] || die "there is more memory than there is"
echo $((total * 2)) 2> /dev/null > $BLOG/torture_fast/size_kb && die "it has got more than there is"
torture_wait
! complaints || die "the kernel complains"

# Somebody takes most of what is left.
used=$(get used_kb $BLOG/stats)
mkdir -p /hog
mount -t tmpfs -o size=100% none /hog || die "mount"
dd if=/dev/zero of=/hog/file bs=1024 count=$(($(kb MemAvailable) * 3 / 4)) 2>/dev/null ||
	die "no memory for others"
[ "$(get used_kb $BLOG/stats)" = "$used" ] || die "it has not stayed as it was"
! complaints || die "the kernel complains"
umount /hog

# What is in the rings has to fit into memory once more.
settings torture_fast/size_kb=4096
truth end
verdict
rmmod blog_torture || die "rmmod blog_torture"
