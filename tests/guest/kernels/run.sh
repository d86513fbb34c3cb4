#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A distribution's kernel, in up to three boots of one machine; the second disk says which. The first
# one has what blog_kernels logs, by snapshot and stream, and what else BLog can do there. Its results
# are on the first disk before it panics; the runner dumps its memory then, and resets the machine.
# The second one logs where records survive a reset. What the third one finds of that is on the second
# disk, too.
. /lib.sh

NAME=$BLOG/kernels
OF=/sys/module/blog_kernels/parameters

# taken NAME: what the component has, and what was logged
taken() {
	cat "$BLOG/snapshot" > "/out/$1.snapshot" || die "snapshot"
	cat "$NAME/stats" > "/out/$1.stats" || die "stats"
	cat $OF/logged > "/out/$1.logged"
}

# The last boot was stopped in the middle of a line.
echo
if [ "$(head -c 1 /dev/vdb)" = 2 ]; then
	modprobe blog persist=blog || die "modprobe blog"
	if [ -e "$BLOG/previous/snapshot" ]; then
		cat "$BLOG/previous/snapshot" > /tmp/previous || die "previous/snapshot"
		dd if=/tmp/previous of=/dev/vdb bs=64k conv=fsync 2> /dev/null || die "dd"
		say "previous $(stat -c %s /tmp/previous)"
		exit 0
	fi
	modprobe blog_kernels each=3 || die "modprobe blog_kernels"
	set_file log $OF/step
	say "second"
	sleep 60
fi

modprobe blog last_words=1 || die "modprobe blog"
cat "$BLOG/stats" > /out/stats || die "stats"
modprobe blog_kernels || die "modprobe blog_kernels"
set_file log $OF/step
taken contexts

# A stream while others log
/bin/streams copy "$NAME/stream" /out/stream /tmp/stop &
reader=$!
set_file log $OF/step
set_file 400 $OF/each
set_file log $OF/step
touch /tmp/stop
wait "$reader" || die "streams"
taken stream

/bin/maps calls "$NAME/map" > /out/map 2>&1
cat /probe > "$NAME/probes" || die "probes"
set_file 3 $OF/each
set_file log $OF/step
# One of its sites is that of a thread's records.
range=$(sed -n 's/^module blog_kernels site \([0-9-]*\) .*/\1/p' "$BLOG/control")
for site in $(seq "${range%-*}" "${range#*-}"); do
	set_file "site=$site" "$NAME/trigger"
	set_file log $OF/step
	cat "$NAME/trigger"
	set_file off "$NAME/trigger"
done > /out/trigger
taken probes

dmesg > /out/dmesg
tar -C /out -cf /dev/vda . || die "tar"
echo 2 > /dev/vdb
sync
set_file deadlock $OF/step
set_file 50 $OF/each
say "done"
set_file panic $OF/step
sleep 60
die "no panic"
