#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Suites that are modules run when they are loaded, those that are built in have run,
# and if the kernel has no KUnit, a parameter starts them (tests/guest/stock/kunit.c).
# In any case the kernel's log has the results.

for dir in /lib/modules/*/kernel/kernel/blog /lib/modules/*/updates; do
	for module in "$dir"/*.ko "$dir"/tests/*.ko "$dir"/tests/capture/*.ko; do
		[ -f "$module" ] || continue
		name=${module##*/}
		name=${name%.ko}
		modprobe "$name" || exit 1
		kunit=/sys/module/$name/parameters/kunit
		[ ! -e "$kunit" ] || echo 1 > "$kunit" || exit 1
	done
done
