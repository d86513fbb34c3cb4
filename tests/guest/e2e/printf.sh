#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Saves what the KUnit case has logged while the kernel booted.

. /lib.sh
dmesg > /out/printf.dmesg
cat "$BLOG/blog_api_kunit/snapshot" > /out/capture.snap || die "no snapshot"
cat "$BLOG/kunit_printf/snapshot" > /out/printf.snap || die "no snapshot"
