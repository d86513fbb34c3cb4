#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Kernel addresses in records, with each kptr_restrict: root sees them, but with 2; who has opened a
# file before sees them on.
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/lib.sh"

RESTRICT=/proc/sys/kernel/kptr_restrict

# shows NAME FILE, hides NAME FILE: one test each
shows() {
	if [ "$("$HERE/addresses" "$OUT/$2")" -gt 0 ]; then ok "$1"; else not_ok "$1"; fi
}
hides() { same "$1" "$("$HERE/addresses" "$OUT/$2")" 0; }

modprobe rust_blog || die "modprobe rust_blog"
restrict=$(cat $RESTRICT)
set_file 0 $RESTRICT
cat $BLOG/snapshot > "$OUT/all"
# What there is comes at once; then there would be more.
timeout 2 cat $BLOG/stream > "$OUT/all.stream"
set_file 1 $RESTRICT
cat $BLOG/snapshot > "$OUT/one"
exec 3< $BLOG/snapshot
set_file 2 $RESTRICT
cat <&3 > "$OUT/before"
cat $BLOG/snapshot > "$OUT/two"
timeout 2 cat $BLOG/stream > "$OUT/two.stream"
set_file 0 $RESTRICT
shows "0: a snapshot shows addresses" all
shows "0: so does a stream" all.stream
shows "1: root sees them" one
shows "2: who has opened a file before sees them" before
hides "2: a snapshot has none" two
hides "2: nor has a stream" two.stream
set_file "$restrict" $RESTRICT
finish
