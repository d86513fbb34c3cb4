#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A machine most of whose memory is huge pages: little is available, but far more than
# a component needs. Prints TAP for the runner.
. /lib.sh

kb() { sed -n "s/^$1: *\\([0-9]*\\) kB/\\1/p" /proc/meminfo; }

total=$(kb MemTotal) available=$(kb MemAvailable)
say "of $total KiB, $available are available"
[ "$available" -lt $((total / 16)) ] || die "too much is available"
blog_on
disk_on 16
set_file debug "$RNULL/level"
dd if=/dev/rnullb0 of=/dev/null bs=4096 count=1000 iflag=direct 2> /dev/null || die "reading"
same "the component has all that it may have" "$(get bytes "$RNULL/stats")" \
	$(($(cat "$RNULL/size_kb") * 1024))
same "nothing is lost" "$(get lost "$RNULL/stats")" 0
if [ "$(get records "$RNULL/stats")" -ge 1000 ]; then ok "it records"; else not_ok "it records"; fi

# As much stays available to others as it takes.
most=$(($(kb MemAvailable) / 2))
if echo $((most + most / 2)) 2> /dev/null > "$RNULL/size_kb"; then
	not_ok "no more than half of what is available"
else
	ok "no more than half of what is available"
fi
pages=$((most / 8))
set_file $((pages * 4)) "$RNULL/size_kb"
same "a budget is there at once" "$(get bytes "$RNULL/stats")" $((pages * 4096))
tap_end
