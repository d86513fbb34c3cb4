#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A kernel that is locked down at level integrity after BLog is there: debugfs refuses what can be
# written, the rest can be read, and settings go through the parameter. Prints TAP.
. /lib.sh

LOCKDOWN=/sys/kernel/security/lockdown
WISHES=/sys/module/blog/parameters/component
SAMPLE=$BLOG/rust_blog

modprobe blog || die "modprobe blog"
modprobe rust_blog || die "modprobe rust_blog"
mount -t securityfs security /sys/kernel/security || die "mount securityfs"
set_file 0 /proc/sys/kernel/kptr_restrict
set_file integrity $LOCKDOWN
before=$(get bytes "$SAMPLE/stats")
if cat "$SAMPLE/enable" 2> /dev/null; then not_ok "debugfs refuses enable"; else ok "debugfs refuses enable"; fi
set_file 'rust_blog:size_kb=2048' $WISHES
same "the parameter is taken" "$(cat $WISHES)" "rust_blog:size_kb=2048"
after=$(get bytes "$SAMPLE/stats")
[ "$after" -gt "$before" ] && [ "$after" -le 2097152 ] && ok "and done" || not_ok "and done: $before, $after"
cat "$BLOG/snapshot" > /out/snapshot && ok "a snapshot can be read" || not_ok "a snapshot can be read"
tap_end
