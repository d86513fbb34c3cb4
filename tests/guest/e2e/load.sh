#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The proof, in the guest: fio, or dd, loads the disk from several processes on all
# CPUs while another process reads snapshots. Leaves in /out all that
# tests/e2e/judge.py needs. Parameters come in /e2e/params.
# shellcheck disable=SC2154
. /lib.sh
. /e2e/params

# resizer: grows and shrinks the component, as long as the load goes on
resizer() {
	while [ ! -e /tmp/stop ]; do
		for kb in $((2 * size_kb)) $((4 * size_kb)) "$size_kb"; do
			# A failed allocation, or pages that are in use, may forbid it.
			echo "$kb" > "$RNULL/size_kb"
			sleep 0.1
		done
	done 2> /tmp/resizer
}

blog_on
fresh "$size_kb" "$ring_kb" "$mode"
disk_on "$disk_mib"

if [ "$faults" != 0 ]; then
	. /e2e/fault-lib.sh
	faults_ready
	within_blog
	faults probability "$faults"
	resizer &
	resizer=$!
fi
reader 2 &
reader=$!
if [ -x /bin/fio ]; then
	say "fio: $ios I/Os from $(grep -c '^rw=' /e2e/load) processes on $(nproc) CPUs"
	fio --output-format=json --output=/out/fio.json /e2e/load || die "fio: $?"
else
	say "dd: $ios I/Os from $(grep -c '^dd' /e2e/load) processes on $(nproc) CPUs"
	sh /e2e/load > /out/dd || die "dd: $?"
fi
touch /tmp/stop
wait $reader || die "the reader of snapshots failed"
if [ "$faults" != 0 ]; then
	wait "$resizer"
	faults probability 0
	injected
	say "$injected allocations failed"
	[ "$injected" -gt 0 ] || die "no allocation failed"
fi

# The last completions may still be on their way through softirq.
sleep 1
witnesses end
cat "$BLOG/snapshot" > /out/end.snap || die "reading snapshot"
mv /tmp/mid.* /tmp/reads /out/
say "read $(cat /out/reads) snapshots meanwhile; the last has $(stat -c %s /out/end.snap) bytes"

disk_off
rmmod rnull_mod || die "rmmod rnull_mod"
