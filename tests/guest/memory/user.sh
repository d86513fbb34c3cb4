#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A user without rights takes memory. What tasks have logged, ended ones too, stays
# to the last record. Prints TAP for the runner.
. /lib.sh

blog_on
disk_on 64
set_file debug "$RNULL/level"
set_file 16384 "$RNULL/size_kb"
set_file 4096 "$RNULL/ring_kb"
for _ in 1 2 3 4 5 6 7 8; do
	dd if=/dev/rnullb0 of=/dev/null bs=4096 count=3000 iflag=direct 2> /dev/null ||
		die "reading"
done
# From here on nothing is logged.
set_file 0 "$RNULL/enable"

# history NAME: what there is; it must be what was there first. Of a snapshot, there may be
# more, as clocks are noted.
history() {
	bytes=$(wc -c < "$RNULL/snapshot") || die "reading the snapshot"
	now=$(grep -E '^(records|pages|pages_free|pages_retired|bytes) ' "$RNULL/stats" | tr '\n' ' ')
	: "${first:=$now}" "${least:=$bytes}"
	if [ "$bytes" -lt "$least" ]; then not_ok "$1: $bytes bytes of $least"; else same "$1" "$now" "$first"; fi
}

history "what was logged"
[ "$bytes" -gt 200000 ] || die "there is too little: $now"
say "$bytes bytes, $now"
hog leave 110000 8 &
sleep 4
dd if=/dev/rnullb0 of=/dev/null bs=1M 2> /dev/null
history "while a user leaves 110 MB and reads a disk"
wait
# Nearly all that there is.
for kb in 40000 8000; do
	hog leave $kb 4
	history "after a user left $kb KiB"
done
tap_end
