#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The proof, in the guest: fio loads the disk from several processes on all
# CPUs while another process reads snapshots. Leaves in /out all that
# tests/e2e/check needs. Parameters come in /e2e/params.
# shellcheck disable=SC2154,SC1091
# shellcheck source=tests/e2e/guest/lib.sh
. /e2e/lib.sh
. /e2e/params

blog_on
rings "$size_kb" "$ring_kb" "$mode"
disk_on "$disk_mib"

reader 2 &
reader=$!
say "fio: $ios I/Os from $(grep -c '^rw=' /e2e/load.fio) processes on $(nproc) CPUs"
fio --output-format=json --output=/out/fio.json /e2e/load.fio || die "fio: $?"
touch /tmp/stop
wait $reader || die "the reader of snapshots failed"

# The last completions may still be on their way through softirq.
sleep 1
witnesses end
cat "$BLOG/snapshot" > /out/end.snap || die "reading snapshot"
blog_files end
mv /tmp/mid.* /tmp/reads /out/
say "read $(cat /out/reads) snapshots meanwhile; the last has $(stat -c %s /out/end.snap) bytes"

disk_off
rmmod rnull_mod || die "rmmod rnull_mod"
