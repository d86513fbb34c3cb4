#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A writer that fills a ring of 16 pages over and over, while snapshots are read:
# each must have the newest 15 pages at least. Ends when it has logged so many records.
# Parameters come in /torture/params.
# shellcheck disable=SC2154
. /torture/lib.sh
. /torture/params

prepare torture_history/size_kb=512 torture_history/ring_kb=64 torture_history/enable=1
only="workers=0 storm=0 irq_us=0 ipi_us=0 instances=0 payload=200"
# shellcheck disable=SC2086
modprobe blog_torture seconds=3600 $only history_us="$history_us" || die "modprobe blog_torture"
count=0
until [ "$(get records $BLOG/torture_history/stats)" -ge "$records" ]; do
	cat $BLOG/torture_history/snapshot > "/out/mid.$((count % 40)).snap" || die "reading snapshot"
	count=$((count + 1))
done
set_file stop $TORTURE/state
torture_wait
truth end
verdict
say "$count snapshots"
rmmod blog_torture || die "rmmod blog_torture"
