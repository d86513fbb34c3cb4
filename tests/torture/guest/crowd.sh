#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Many tasks that log ten short records each and stay. Whether all of them are there
# is for the verifier; here they get 8 MiB for 10,000 tasks, and less for fewer, of
# which 6 are the component's. The rest is for the tables of tasks, which have no
# limit: they are measured. Parameters come in /torture/params.
# shellcheck disable=SC2154
. /torture/lib.sh
. /torture/params

set_file 65536 /proc/sys/kernel/pid_max
set_file 60000 /proc/sys/kernel/threads-max
prepare torture_crowd/size_kb=$((crowd * 6080 / 10000 + 64)) torture_crowd/ring_kb=16 torture_crowd/enable=1
only="workers=0 storm=0 irq_us=0 ipi_us=0 instances=0 payload=0"
# The worker that makes tables for tasks may be behind at first.
sleep 1
# shellcheck disable=SC2086
modprobe blog_torture seconds=1 $only crowd="$crowd" crowd_records=10 || die "modprobe blog_torture"
torture_wait
truth end
verdict
own=$(get bytes $BLOG/torture_crowd/stats)
tables=$(get task_table_bytes $BLOG/stats)
say "$(cat $TORTURE/state | tail -n 1), $own bytes of the component, $tables of tables for tasks"
# All other tasks have tables, too.
[ "$tables" -le $((crowd * 196 + 131072)) ] || die "tables of more than 196 bytes a task"
rmmod blog_torture || die "rmmod blog_torture"
