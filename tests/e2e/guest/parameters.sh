#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Says which parameters BLog has, and that it runs.

. /lib.sh
for file in /sys/module/blog/parameters/*; do say "${file##*/}=$(cat "$file")"; done
cat "$BLOG/stats" > /out/stats || die "BLog isn't there"
