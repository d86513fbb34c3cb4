#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Lets threads hang, and reads the log of that. Parameter in /hangs/params: scene.
# shellcheck disable=SC2154
. /lib.sh
. /hangs/params

PARAMETERS=/sys/module/blog_hang/parameters
[ -d "$BLOG" ] || modprobe blog || die "modprobe blog"
modprobe blog_hang scene="$scene" || die "modprobe blog_hang scene=$scene"
# A wait of less may be an ordinary one.
sleep 1.2
cat "$BLOG/snapshot" > /out/snapshot || die "$BLOG/snapshot"
echo 1 > $PARAMETERS/stop
