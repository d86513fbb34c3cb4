#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Loads the sample disk from eight processes on all CPUs, while another process reads snapshots; one
# more process reads a sector that is bad. Then two threads of the driver wait for each other.
# Parameters come in /disk/params.
# shellcheck disable=SC2154
. /lib.sh
. /disk/params

DISK=$BLOG/blog_disk
PARAMETERS=/sys/module/blog_disk/parameters
# Blocks of the disk that are each process's own: it writes them all, and reads them all.
region=$((ios / 16))
blocks=$((8 * region))

# load N: the I/Os of a process, past the page cache
load() {
	dd if=/dev/zero of=/dev/blogdisk bs=4k count=$region seek=$(($1 * region)) \
		oflag=direct conv=notrunc 2>"/tmp/error.$1" &&
		dd if=/dev/blogdisk of=/dev/null bs=4k count=$region skip=$(($1 * region)) \
			iflag=direct 2>"/tmp/error.$1" || die "dd: $(cat "/tmp/error.$1")"
}

modprobe blog || die "modprobe blog"
modprobe blog_disk size_mb=$((blocks / 256 + 1)) || die "modprobe blog_disk"
set_file 0 "$DISK/enable"
set_file 1 "$DISK/clear"
set_file 16384 "$DISK/size_kb"
set_file 4096 "$DISK/ring_kb"
set_file 1 "$DISK/enable"
# What the driver has counted so far isn't in the log.
before=$(cat $PARAMETERS/queued)

# For reader()
# shellcheck disable=SC2034
RNULL=$DISK
reader 2 &
reader=$!
say "dd: $((2 * blocks)) I/Os from 8 processes on $(nproc) CPUs"
loads=
for n in 0 1 2 3 4 5 6 7; do
	load $n &
	loads="$loads $!"
done
for n in $loads; do
	wait "$n" || die "a process failed"
done
set_file $((blocks * 8 - 8)) $PARAMETERS/bad
dd if=/dev/blogdisk of=/dev/null bs=4k skip=$((blocks - 1)) count=1 iflag=direct 2>/tmp/error &&
	die "the bad sector was read"
say "$(head -n 1 /tmp/error)"
touch /tmp/stop
wait $reader || die "the reader of snapshots failed"

echo $(($(cat $PARAMETERS/queued) - before)) > /out/queued
set_file 1 $PARAMETERS/deadlock
# A wait of less may be an ordinary one.
sleep 2
cat "$BLOG/snapshot" > /out/end.snap || die "reading snapshot"
say "read $(cat /tmp/reads) snapshots meanwhile; the last has $(stat -c %s /out/end.snap) bytes"
