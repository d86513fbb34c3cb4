#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Which of BLog's files can be opened, and what they say, in a kernel that its command
# line may have locked down; and after it was locked down further.
. /lib.sh

RESTRICT=/proc/sys/kernel/kptr_restrict
LOCKDOWN=/sys/kernel/security/lockdown

# opens MODE: which files can be opened so: < to read, >> to write
opens() {
	find $BLOG -type f | while read -r file; do
		if (eval "exec 3$1 $file") 2> /dev/null; then echo "$file"; fi
	done | sed "s|$BLOG/||" | sort
}

# keep DIR: the level, what can be opened, and what that says
keep() {
	mkdir -p "/out/$1"
	sed 's/.*\[\(.*\)\].*/\1/' $LOCKDOWN > "/out/$1/level"
	opens '<' > "/out/$1/read"
	opens '>>' > "/out/$1/write"
	# What there is comes at once. A stream waits for more.
	while read -r file; do
		timeout 2 cat "$BLOG/$file" > "/out/$1/$(echo "$file" | tr / -)" &
	done < "/out/$1/read"
	wait
}

mount -t securityfs security /sys/kernel/security || die "mount securityfs"
find $BLOG -type f | sed "s|$BLOG/||" | sort > /out/files
set_file 0 $RESTRICT
keep shown
set_file 2 $RESTRICT
keep hidden
if grep -q '\[integrity\]' $LOCKDOWN; then
	exec 3< $BLOG/snapshot
	set_file confidentiality $LOCKDOWN
	keep raised
	cat <&3 > /out/raised/before
fi
exit 0
