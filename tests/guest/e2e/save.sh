#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A member of the group that may read BLog's files saves a file to hand over; nobody else can.
. /lib.sh

TRACING=/sys/kernel/tracing
modprobe rust_blog || die "modprobe rust_blog"
mount -o remount,gid=100,mode=750 $TRACING || die "mount"
set_file 1 /proc/sys/kernel/kptr_restrict
set_file 1 /proc/sys/kernel/dmesg_restrict
cat $TRACING/blog/snapshot > /out/all
/as 1000 100 blog-decode save -o - > /out/saved 2> /out/saved.err
/as 65534 65534 blog-decode save -o /tmp/nobody 2> /out/nobody.err || echo $? > /out/nobody
exit 0
