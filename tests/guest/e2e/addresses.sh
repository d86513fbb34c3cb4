#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Keeps what files say with each kptr_restrict.
. /lib.sh

RESTRICT=/proc/sys/kernel/kptr_restrict

set_file 0 $RESTRICT
cat $BLOG/snapshot > /out/all
# What there is comes at once; then there would be more.
timeout 2 cat $BLOG/stream > /out/all.stream
set_file 1 $RESTRICT
cat $BLOG/snapshot > /out/one
exec 3< $BLOG/snapshot
set_file 2 $RESTRICT
cat <&3 > /out/before
cat $BLOG/snapshot > /out/two
timeout 2 cat $BLOG/stream > /out/two.stream
exit 0
