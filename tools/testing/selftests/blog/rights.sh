#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Which of BLog's files root, a member of a group, and anybody can open, in tracefs and in
# debugfs, as they are mounted and with a group that may read. A member sees no addresses.
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/lib.sh"

RESTRICT=/proc/sys/kernel/kptr_restrict
TRACING=/sys/kernel/tracing
MEMBERS=100 MEMBER=1000 NOBODY=65534

# opened USER GROUP MODE FOLDER: which files can be opened so: < to read, >> to write
opened() {
	# shellcheck disable=SC2016 # for the other shell
	"$HERE/as" "$1" "$2" sh -c 'while read -r file; do
		if eval "true $0 $1/$file" 2> /dev/null; then echo "$file"; fi
	done' "$3" "$4" < "$OUT/files"
}

# may WHO USER GROUP PLACE READ WRITE: one test: whether it can open these
may() {
	if [ "$(opened "$2" "$3" '<' "$4")" != "$5" ]; then
		not_ok "$1 may read: $(opened "$2" "$3" '<' "$4" | tr '\n' ' ')"
	elif [ "$(opened "$2" "$3" '>>' "$4")" != "$6" ]; then
		not_ok "$1 may write: $(opened "$2" "$3" '>>' "$4" | tr '\n' ' ')"
	else
		ok "$1"
	fi
}

# all_may PLACE MEMBER: what all users may there; a member may read
all_may() {
	may "$1: root may open all" 0 0 "$2" "$every" "$every"
	may "$1: a member reads what a group may" $MEMBER $MEMBERS "$2" "$3" ''
	may "$1: nobody else opens any" $NOBODY $NOBODY "$2" '' ''
}

modprobe rust_blog || die "modprobe rust_blog"
(cd $BLOG && find . -type f) | sed 's|^\./||' | sort > "$OUT/files"
every=$(cat "$OUT/files")
# What can only be written, and what has addresses for all who open it
readable=$(grep -vE '/(clear|marker|map)$' "$OUT/files")
restrict=$(cat $RESTRICT)
all_may tracefs $TRACING/blog ''
[ ! -d /sys/kernel/debug/blog ] || all_may debugfs /sys/kernel/debug/blog ''
mount -o remount,gid=$MEMBERS,mode=750 $TRACING || die "mount"
all_may "with a group" $TRACING/blog "$readable"

set_file 1 $RESTRICT
cat $TRACING/blog/snapshot > "$OUT/all"
"$HERE/as" $MEMBER $MEMBERS cat $TRACING/blog/snapshot > "$OUT/two"
set_file 0 $RESTRICT
same "root sees addresses, and a member doesn't" \
	"$("$HERE/addresses" "$OUT/all" "$OUT/two" | sed '1s/^[1-9].*/some/' | tr '\n' ' ')" \
	"some 0 "
set_file "$restrict" $RESTRICT
mount -o remount,gid=0,mode=700 $TRACING || die "mount"
finish
