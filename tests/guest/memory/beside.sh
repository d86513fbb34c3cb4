#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What BLog takes without components, and what components take beside their size_kb: directories,
# files, and places for crash tools. The page deploy.rst has these numbers. Prints TAP for the runner.
. /lib.sh

start=96 module=1024 each=8

# kb KEY: of /proc/meminfo
kb() { awk -v key="$1:" '$1 == key { print $2 }' /proc/meminfo; }

# free: memory that is free once RCU has freed what waits for it
free() {
	echo 3 > /proc/sys/vm/drop_caches
	sleep 2
	kb MemFree
}

# at_most NAME NUMBER LIMIT
at_most() {
	say "$1: $2"
	if [ "$2" -le "$3" ]; then ok "$1: at most $3"; else not_ok "$1: at most $3"; fi
}

# components RUN: leaves 64 components that a run had
components() {
	modprobe blog_torture seconds=1 workers=0 storm=0 irq_us=0 ipi_us=0 renew_ms=0 instances=64 run="$1" ||
		die "modprobe blog_torture"
	torture_wait
	rmmod blog_torture || die "rmmod blog_torture"
}

modprobe blog || die "modprobe blog"
same "KiB in use without components" "$(get used_kb "$BLOG/stats")" $start
size=$(awk '$1 == "blog" { print $2 }' /proc/modules)
at_most "KiB of the module" $((size / 1024)) $module
set_file '*:size_kb=16' /sys/module/blog/parameters/component
components 1
few=$(get components "$BLOG/stats") used=$(get used_kb "$BLOG/stats") before=$(free)
for run in 2 3 4 5 6 7 8 9; do components "$run"; done
more=$(($(get components "$BLOG/stats") - few)) used=$(($(get used_kb "$BLOG/stats") - used))
[ "$more" -gt 500 ] || die "only $more components more"
at_most "KiB of each component beside size_kb" $(((before - $(free) - used) / more)) $each
tap_end
