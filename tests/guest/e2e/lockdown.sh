#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Which of BLog's files can be opened, in tracefs and in debugfs, and what they say: at the level of
# lockdown that the command line has, and if that is none, at each level.
. /lib.sh

LOCKDOWN=/sys/kernel/security/lockdown
PLACE=/sys/kernel/tracing/blog

# opens MODE FOLDER: which files can be opened so: < to read, >> to write
opens() {
	while read -r file; do
		if (eval "exec 3$1 $2/$file") 2> /dev/null; then echo "$file"; fi
	done < /out/files
}

# keep DIR: the level, what can be opened, and what that says
keep() {
	mkdir -p "/out/$1/said"
	sed 's/.*\[\(.*\)\].*/\1/' $LOCKDOWN > "/out/$1/level"
	for fs in tracing debug; do
		opens '<' /sys/kernel/$fs/blog > "/out/$1/$fs.read"
		opens '>>' /sys/kernel/$fs/blog > "/out/$1/$fs.write"
	done
	# What there is comes at once. A stream waits for more.
	while read -r file; do
		timeout 2 cat "$PLACE/$file" > "/out/$1/said/$(echo "$file" | tr / -)" &
	done < "/out/$1/tracing.read"
	wait
}

mount -t securityfs security /sys/kernel/security || die "mount securityfs"
(cd /sys/kernel/debug/blog && find . -type f) | sed 's|^\./||' | sort > /out/files
set_file 0 /proc/sys/kernel/kptr_restrict
keep boot
grep -q '\[none\]' $LOCKDOWN || exit 0
cat $PLACE/snapshot > /out/all
set_file integrity $LOCKDOWN
keep integrity
exec 3< $PLACE/snapshot
set_file confidentiality $LOCKDOWN
keep confidentiality
cat <&3 > /out/before
exit 0
