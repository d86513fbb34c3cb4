#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# In the guest: fio reads 25 times a second in each of four threads, each of which has
# a CPU of its own; after some seconds the third one has to share it with a program that
# computes, and has the higher priority. Leaves the snapshot in /out.
. /lib.sh

blog_on
rings 2048 64 overwrite
disk_on 64
cat > /tmp/job << 'END'
[global]
filename=/dev/rnullb0
direct=1
ioengine=psync
rw=randread
bs=4k
thread=1
time_based=1
runtime=9
rate_iops=25,25
[web]
cpus_allowed=0
[mail]
cpus_allowed=1
[db]
cpus_allowed=2
nice=19
[backup]
cpus_allowed=3
rw=read
bs=64k
END
rings_live() { sed -n 's/^rings_live //p' "$BLOG/rnull/stats"; }
before=$(rings_live)
fio /tmp/job > /tmp/fio.log 2>&1 &
fio=$!
# All of them are at work.
for _ in $(seq 300); do
	[ "$(rings_live)" -ge $((before + 4)) ] && break
	sleep 0.1
done
sleep 2
# shellcheck disable=SC2016 # for the inner shell
sh -c 'renice -n -10 -p $$; taskset -p 4 $$; while :; do :; done' > /dev/null 2>&1 &
hog=$!
sleep 3.3
cat "$BLOG/snapshot" > /out/snap || die "reading snapshot"
kill -9 $hog
cp -r /lib/modules/*/blog /out/ || die "no side tables"
wait $fio || die "fio: $(tail -n 3 /tmp/fio.log)"
