#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Saves what the KUnit case has logged while the kernel booted.

. /lib.sh
cat "$BLOG/kunit_printf/snapshot" > /out/printf.snap || die "no snapshot"
