#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# /dev/snapshot is open while BLog is loaded, or while the machine sleeps (blog_while=load,
# sleep): opening and closing it calls PM notifiers, in an order that no sleep has. BLog's
# clock goes on unchanged.
# shellcheck disable=SC2154
. /lib.sh

[ "$blog_while" = load ] || modprobe blog || die "modprobe blog"
exec 3< /dev/snapshot || die "/dev/snapshot"
case $blog_while in
load) modprobe blog || die "modprobe blog" ;;
sleep)
	# As far as the freezer, and back
	set_file freezer /sys/power/pm_test
	set_file freeze /sys/power/state ;;
esac
exec 3<&-
modprobe rust_blog || die "modprobe rust_blog"
cat $BLOG/snapshot > /out/snapshot || die "reading snapshot"
rmmod rust_blog || die "rmmod"
exit 0
