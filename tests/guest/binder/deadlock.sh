#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Has a thread take a lock of Binder's that it holds; comes back only if it doesn't.
. /lib.sh

echo 4 > /proc/sys/kernel/watchdog_thresh
mkdir /tmp/binder
mount -t binder binder /tmp/binder || die "mount"
say "scene"
talk deadlock /tmp/binder/binder
die "no deadlock"
