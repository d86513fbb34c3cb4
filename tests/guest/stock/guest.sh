#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BLog as a module of Debian's own kernel: it refuses what it must, and a driver's records
# can be read. Prints TAP; the snapshot goes to /out.
. /lib.sh

modules=/lib/modules/$(uname -r)/updates

# refused NAME TEXT COMMAND...: it fails with that, and nothing happens
refused() {
	name=$1 text=$2
	shift 2
	if "$@" 2> /tmp/error; then
		not_ok "$name: it works"
	elif grep -q "$text" /tmp/error; then
		ok "$name"
	else
		not_ok "$name: $(cat /tmp/error)"
	fi
}

refused "a driver without BLog" "unknown symbol" insmod "$modules/rust_blog.ko"
modprobe blog || die "modprobe blog"
refused "BLog twice" "File exists" insmod "$modules/blog.ko"
# A driver of another BLog works, without its log.
insmod /stock/other.ko || die "insmod other.ko"
[ ! -e $BLOG/rust_blog ] && ok "no component of another BLog" || not_ok "a component of another BLog"
same "each such load has a line" "$(dmesg | grep -c 'blog: rust_blog was built for another BLog')" 1
rmmod rust_blog || die "rmmod of another BLog"
modprobe rust_blog || die "modprobe rust_blog"
cat $BLOG/snapshot > /out/snapshot || die "reading snapshot"
rmmod rust_blog || die "rmmod rust_blog"
refused "BLog's end" "resource busy" rmmod blog
modprobe rust_blog || die "modprobe rust_blog again"

# Who may see addresses: see hookless.c
for may in 0:1 1:1 2:0; do
	echo "${may%:*}" > /proc/sys/kernel/kptr_restrict
	cat $BLOG/snapshot > "/out/kptr${may%:*}"
done
tap_end
