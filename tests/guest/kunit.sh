#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Suites that are modules run when they are loaded, those that are built in have run,
# and if the kernel has no KUnit, a parameter starts them (tests/stock/kunit.c).
# In any case the kernel's log has the results.
. /lib.sh

for dir in /lib/modules/*/kernel/kernel/blog /lib/modules/*/updates; do
	for module in "$dir"/*.ko "$dir"/tests/*.ko "$dir"/tests/*/*.ko; do
		[ -f "$module" ] || continue
		name=${module##*/}
		name=${name%.ko}
		modprobe "$name" || exit 1
		kunit=/sys/module/$name/parameters/kunit
		[ ! -e "$kunit" ] || echo 1 > "$kunit" || exit 1
	done
done

# It reports objects older than 5 s; twice, as an object may have been on a CPU. In UML, the
# kernel itself has some from when it boots.
leaks=/sys/kernel/debug/kmemleak
[ -e $leaks ] || exit 0
sleep 6
set_file scan $leaks
set_file scan $leaks
more=$(grep '^  comm ' $leaks | grep -cv '"swapper')
[ "$more" = 0 ] || die "kmemleak: $(cat $leaks)"
