#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The driver goes away and comes back under load, several times. What it logged
# before must stay readable, and nothing may go missing without a count. Leaves
# in /out a snapshot taken while the driver was away, the last one, and the
# driver's counters of each round. Parameters come in /e2e/params.
# shellcheck disable=SC2154
. /lib.sh
. /e2e/params

blog_on
fresh "$size_kb" "$ring_kb" "$mode"
reader 1 &
reader=$!

round=1
while [ "$round" -le "$rounds" ]; do
	disk_on "$disk_mib"
	fio --output-format=json --output=/tmp/fio.json --time_based --runtime=60 \
		/e2e/load > /tmp/fio.log 2>&1 &
	load=$!
	sleep 2
	# In the midst of it. fio gets errors and gives up, or finds the disk's end
	# wherever it looks, and would go on. It must have closed the disk before the
	# module goes, as a disk doesn't pin its module (see gen_disk.rs).
	set_file 0 "$CONFIG/rnullb0/power"
	sleep 1
	kill $load 2>/dev/null
	wait $load && die "fio was content though its disk went away"
	witnesses "round$round"
	rmdir "$CONFIG/rnullb0" || die "rmdir rnullb0"
	rmmod rnull_mod || die "rmmod rnull_mod"
	say "round $round: $(grep ^queue /out/round$round.counters), driver unloaded"
	if [ "$round" = 1 ]; then
		cat "$BLOG/snapshot" > /out/away.snap || die "reading snapshot"
	fi
	modprobe rnull_mod || die "modprobe rnull_mod"
	round=$((round + 1))
done
touch /tmp/stop
wait $reader || die "the reader of snapshots failed"
witnesses end
cat "$BLOG/snapshot" > /out/end.snap || die "reading snapshot"
mv /tmp/reads /out/
