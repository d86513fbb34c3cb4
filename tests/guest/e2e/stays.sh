#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BLog stays once it is loaded, and gives its memory back all the same. A module that only has a
# component gets BLog before it is loaded itself. Prints TAP for the runner.
. /lib.sh

modprobe blog_owner || die "modprobe blog_owner"
if [ -d "$BLOG/owner" ]; then has=it; else has=nothing; fi
same "BLog is loaded before a component, which it knows" $has it
at_start=$(get used_kb "$BLOG/stats")
modprobe blog_borrower || die "modprobe blog_borrower"
same "calls of another module are counted" "$(get records "$BLOG/owner/stats")" 1000
rmmod blog_borrower || die "rmmod blog_borrower"
rmmod blog_owner || die "rmmod blog_owner"
rmmod blog 2> /tmp/error
same "BLog stays without any driver" $? 1
say "rmmod: $(cat /tmp/error)"
same "and so does what was logged" "$(get records "$BLOG/owner/stats")" 1000
modprobe blog_borrower || die "a second time"
same "a driver that is back goes on" "$(get records "$BLOG/owner/stats")" 2000

# everything VALUE FILE: writes to this file of all components
everything() {
	for dir in "$BLOG"/*/; do
		[ ! -e "$dir$2" ] || set_file "$1" "$dir$2"
	done
}

everything 0 enable
everything 1 clear
used=$(get used_kb "$BLOG/stats")
same "switched off and cleared, it has what stays in any case" "$used" "$(get fixed_kb "$BLOG/stats")"
if [ "$used" -lt "$at_start" ]; then size=less; else size="$used of $at_start"; fi
same "that is less than one component" "$size" less
everything 1 enable
same "and it takes as much as before" "$(get used_kb "$BLOG/stats")" "$at_start"
tap_end
