#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Version 1 of the series alone, with rnull built in: writes 100 pages, and takes a snapshot.
. /lib.sh

disk_on 1
# Page 0 is read when the disk comes.
for page in $(seq 100); do
	dd if=/dev/zero of="$DISK" bs=4096 count=1 seek="$page" conv=fsync 2> /dev/null || die "dd"
done
cat /sys/kernel/tracing/blog/snapshot > /out/snapshot || die "no snapshot"
cat "$RNULL/stats"
