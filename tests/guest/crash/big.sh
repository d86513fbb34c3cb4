#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Many tasks that have logged and stay, on many CPUs that have logged in interrupts,
# for a dump of all that. It never ends. Parameters in /torture/params: crowd.
# shellcheck disable=SC2154
. /torture/lib.sh
. /torture/params

set_file 65536 /proc/sys/kernel/pid_max
set_file 60000 /proc/sys/kernel/threads-max
prepare torture_crowd/size_kb=16384 torture_crowd/ring_kb=16 torture_crowd/enable=1
# The worker that makes tables for tasks may be late at first.
sleep 1
modprobe blog_torture seconds=3 workers=0 storm=0 irq_us=40000 ipi_us=40000 instances=0 payload=0 \
	crowd="$crowd" crowd_records=10 || die "modprobe blog_torture"
torture_wait
say "big $(get used_kb $BLOG/stats) KiB"
while :; do sleep 60; done
