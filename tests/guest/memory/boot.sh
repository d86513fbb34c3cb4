#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A kernel that has each of BLog's parameters on its command line, and dies of a warning.
# Prints TAP for the runner.
. /lib.sh

[ -d "$BLOG" ] || modprobe blog || die "modprobe blog"
for file in /sys/module/blog/parameters/*; do
	name=${file##*/}
	given=$(tr ' ' '\n' < /proc/cmdline | sed -n "s/^blog\\.$name=//p")
	same "the parameter $name" "$(cat "$file")" "${given:-not on the command line}"
done
same "the limit" "$(get max_kb $BLOG/stats)" 16384
# It is lower than what is used then, and higher again.
blog_on
size=$(cat "$RNULL/size_kb")
low=$(($(get used_kb $BLOG/stats) - 256))
set_file $low /sys/module/blog/parameters/max_kb
sleep 2
used=$(get used_kb $BLOG/stats)
say "$used KiB are used of $low"
if [ "$used" -le $low ]; then ok "it holds when it is lowered"; else not_ok "it holds when it is lowered"; fi
if echo 8 2> /dev/null > /sys/module/blog/parameters/max_kb; then
	not_ok "one that can't be reached is refused"
else
	same "one that can't be reached is refused" "$(get max_kb $BLOG/stats)" $low
fi
set_file 16384 /sys/module/blog/parameters/max_kb
set_file "$size" "$RNULL/size_kb"
same "what went comes back" "$(get bytes "$RNULL/stats")" $((size * 1024))
tap_end
