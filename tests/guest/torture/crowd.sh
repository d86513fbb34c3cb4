#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Many tasks that log ten short records each and stay. The verifier checks that all
# records are there. The tasks get 8 MiB for 10,000, and less for fewer, including
# their tables, of which BLog has 96 KiB from the start. Parameters come in
# /torture/params.
# shellcheck disable=SC2154
. /torture/lib.sh
. /torture/params

set_file 65536 /proc/sys/kernel/pid_max
set_file 60000 /proc/sys/kernel/threads-max
prepare torture_crowd/size_kb=$((crowd * 8096 / 10000)) torture_crowd/ring_kb=16 torture_crowd/enable=1
only="workers=0 storm=0 irq_us=0 ipi_us=0 instances=0 payload=0"
# shellcheck disable=SC2086
modprobe blog_torture seconds=1 $only crowd="$crowd" crowd_records=10 || die "modprobe blog_torture"
torture_wait
truth end
verdict
own=$(get bytes $BLOG/torture_crowd/stats)
tables=$(get task_table_bytes $BLOG/stats)
say "$(cat $TORTURE/state | tail -n 1), $own bytes of the component, $tables of tables for tasks"
[ $((own + tables)) -le $((crowd * 8096 / 10000 * 1024 + 98304)) ] || die "more than 8 MiB for 10,000"
rmmod blog_torture || die "rmmod blog_torture"
