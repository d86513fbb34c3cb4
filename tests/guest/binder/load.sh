#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Clients and servers that talk over Binder; then what Binder has counted, and what was recorded.
# shellcheck disable=SC2154
. /lib.sh
. /binder/params

set_file 0 "$BLOG/binder/enable"
set_file 65536 "$BLOG/binder/size_kb"
set_file 16384 "$BLOG/binder/ring_kb"
set_file 1 "$BLOG/binder/enable"
mkdir /tmp/binder
mount -t binder -o stats=global binder /tmp/binder || die "mount"
before=$(cut -d' ' -f1 /proc/uptime)
talk /tmp/binder/binder 4 "$clients" "$calls" || die "talk"
say "$clients clients, $calls calls each: $before to $(cut -d' ' -f1 /proc/uptime)"
cat /tmp/binder/binder_logs/stats > /out/stats || die "no stats"
cat "$BLOG/binder/snapshot" > /out/binder.snap || die "no snapshot"
