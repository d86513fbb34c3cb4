#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Saves what the KUnit cases have printed and logged while the kernel booted.

. /lib.sh
dmesg > /out/dmesg
cat "$BLOG/blog_capture_kunit/snapshot" > /out/capture.snap || die "no snapshot"
