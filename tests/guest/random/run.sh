#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Texts at random for all files of BLog, from three processes, while a driver logs. Then it logs on.
# Parameters in /random/params: seed, seconds. The words are in /random/words.
# shellcheck disable=SC2154
. /lib.sh
. /random/params

blog_on
rings 16384 8192 overwrite
disk_on 16
files=$(find "$BLOG/" /sys/module/blog/parameters -type f)
[ "$(echo "$files" | wc -l)" -gt 20 ] || die "files: $files"
pids=
for n in 1 2 3; do
	# shellcheck disable=SC2086
	/bin/random $((seed + n)) "$seconds" /random/words "/out/pcs.$n" $files > /dev/null &
	pids="$pids $!"
done
left=$seconds
while [ "$left" -gt 0 ]; do
	dd if=$DISK of=/dev/null bs=4k count=50 iflag=direct 2> /dev/null || die "reading"
	sleep 1
	left=$((left - 1))
done
for pid in $pids; do wait "$pid" || die "random: $?"; done
rings 16384 8192 overwrite
set_file "module rnull_mod =_" "$BLOG/control"
before=$(get records "$RNULL/stats")
dd if=$DISK of=/dev/null bs=4k count=50 iflag=direct 2> /dev/null || die "reading"
say "records $(($(get records "$RNULL/stats") - before))"
cat "$BLOG/snapshot" > /out/snapshot || die "$BLOG/snapshot"
disk_off
