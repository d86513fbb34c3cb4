#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A kernel that takes itself for a kdump kernel, with settings of the one that has crashed;
# and with blog.kdump=1. Prints TAP for the runner.
. /lib.sh

[ -d "$BLOG" ] || modprobe blog || die "modprobe blog"
modprobe rust_blog || die "modprobe rust_blog"
log=$BLOG/rust_blog
[ -d "$log" ] || die "no component of rust_blog"
used=$(get used_kb "$BLOG/stats") fixed=$(get fixed_kb "$BLOG/stats")
if [ "$(cat /sys/module/blog/parameters/kdump)" = Y ]; then
	same "what is asked for is on" "$(cat "$log/enable")" 1
	same "and as large as the command line says" "$(cat "$log/size_kb")" 4096
	[ "$(get kept_kb "$log/stats")" -gt 0 ]
	same "and kept for the next boot" $? 0
else
	same "no component is on" "$(cat "$BLOG"/*/enable | sort -u)" 0
	same "nor has memory" "$used" "$fixed"
	set_file 1 "$log/enable"
	same "one that is switched on has its driver's size" "$(cat "$log/size_kb")" \
		"$(($(get bytes "$log/stats") / 1024))"
	same "and is not kept" "$(get kept_kb "$log/stats")" 0
fi
tap_end
