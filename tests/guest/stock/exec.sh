#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A thread that logs executes a program (exec.c), which is there in the snapshot.
. /lib.sh

modprobe blog && blog_on
/bin/exec /bin/after_exec > /out/said &
until [ -d $CONFIG/by_program ]; do sleep 0.1; done
sleep 1
cat $BLOG/snapshot > /out/snapshot || die "reading snapshot"
kill $!
exit 0
