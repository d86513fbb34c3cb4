#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Prints BLog's parameters, and that it runs.

. /lib.sh
for file in /sys/module/blog/parameters/*; do say "${file##*/}=$(cat "$file")"; done
cat "$BLOG/stats" > /out/stats || die "BLog isn't there"
