#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Version 1 of the series alone, with rnull built in: writes 100 blocks, and takes a snapshot.
. /lib.sh

disk_on 1
echo 1 > "$RNULL/clear"
dd if=/dev/zero of="$DISK" bs=512 count=100 oflag=direct 2> /dev/null || die "dd"
cat /sys/kernel/tracing/blog/snapshot > /out/snapshot || die "no snapshot"
cat "$RNULL/stats"
