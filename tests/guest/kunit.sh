#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Suites that are modules run when they are loaded; those that are built in have run.
# Either way the kernel's log has the results.

for dir in /lib/modules/*/kernel/blog; do
	for module in "$dir"/*.ko "$dir"/tests/*.ko "$dir"/tests/*/*.ko; do
		[ -f "$module" ] || continue
		name=${module##*/}
		modprobe "${name%.ko}" || exit 1
	done
done
