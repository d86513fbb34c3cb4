#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# One boot of many: brings what the boot before has left to the second disk, then
# logs until the machine is reset: tasks that count, each in its ring, whose
# numbers the console has only after they have been logged; and disks that are
# busy, for rings that come and go. Each word in the boot's own name.
. /lib.sh

lines=
boot=$(cut -c 1-8 /proc/sys/kernel/random/boot_id)
kept=$BLOG/previous

# The last boot was stopped in the middle of a line.
echo
[ -d "$BLOG" ] || modprobe blog persist=blog max_kb="${blog_max:-0}" || die "modprobe blog"
dmesg | grep 'persist=[a-z]*:' | sed 's/^/guest: kernel: /'
if [ -e $kept/snapshot ]; then
	cat $kept/snapshot > /tmp/previous || die "cat previous/snapshot"
	dd if=/tmp/previous of=/dev/vdb bs=64k conv=fsync 2> /dev/null || die "dd"
	# A second read gives the same, and after a clear there is nothing.
	cmp /tmp/previous $kept/snapshot || die "another content"
	used=$(get used_kb $BLOG/stats)
	echo 0 2> /dev/null > $kept/clear && die "cleared by 0"
	if [ "${blog_clear:-1}" = 1 ]; then
		set_file 1 $kept/clear
		cat $kept/snapshot 2> /dev/null && die "a snapshot after clear"
		[ "$(get used_kb $BLOG/stats)" -lt "$used" ] || dmesg | grep -q "no memory for a copy" ||
			die "clear has freed nothing"
	fi
	say "previous $boot $(stat -c %s /tmp/previous)"
	rm /tmp/previous
else
	say "previous $boot 0"
fi

# ftrace's buffer, where the command line has one: how many of our lines it brings.
ftrace=/sys/kernel/tracing/instances/ftrace
if [ -d $ftrace ]; then
	say "ftrace $boot $(grep -c ': mark ' $ftrace/trace)"
	echo > $ftrace/trace
	set_file 1 $ftrace/tracing_on
	lines=$ftrace/trace_marker
fi

modprobe rnull_mod || die "modprobe rnull_mod"
set_file 0 "$RNULL/enable"
set_file 1 "$RNULL/clear"
set_file debug "$RNULL/level"
set_file "${blog_size:-6144}" "$RNULL/size_kb"
set_file 512 "$RNULL/ring_kb"
set_file 1 "$RNULL/enable"
say "memory $boot $(get kept_kb "$RNULL/stats") $(get missing_kb "$RNULL/stats")"
disk_on 16

# counts NAME: logs numbers
counts() {
	n=0
	while :; do
		n=$((n + 1))
		echo "mark $boot $1 $n" > "$RNULL/marker" || die "marker"
		[ -z "$lines" ] || echo "mark $boot $1 $n" > "$lines"
		[ $((n % 10)) != 0 ] || say "at $boot $1 $n"
	done
}

# Tasks that log and end
busy() {
	while :; do dd if=/dev/zero of=/dev/rnullb0 bs=4k count="$1" oflag=direct 2> /dev/null; done
}

counts a &
counts b &
busy 100 &
busy 7 &
wait
