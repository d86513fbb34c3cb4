#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A Ceph cluster on one machine, and the kernel's client with its messages recorded: see
# tests/suites/test_ceph.py. The daemons run in a Debian of their own, whose folder on the host is
# named in /ceph/params; nothing there is changed but what is on a tmpfs.
# shellcheck disable=SC2154
. /lib.sh
. /ceph/params

DYNDBG=/sys/kernel/debug/dynamic_debug/control
C=/tmp/ceph

# each ACTION: for both modules
each() {
	for module in ceph libceph; do "$@" "$module"; done
}
enable() { set_file "$1" "$BLOG/$2/enable"; }
print() { echo "module $2 $1" > $DYNDBG; }
save() { cat "$BLOG/$2/snapshot" > "/out/$1.$2.snap" || die "no snapshot of $2"; }
# empty SIZE-KB RING-KB: nothing is in the log, and there is room
empty() {
	each enable 0
	for module in ceph libceph; do
		set_file 1 "$BLOG/$module/clear"
		set_file "$1" "$BLOG/$module/size_kb"
		set_file "$2" "$BLOG/$module/ring_kb"
	done
	each enable 1
}
in_root() { chroot $C /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C "$@"; }
now() { cut -d' ' -f1 /proc/uptime; }

# --- the cluster, and the mount ----------------------------------------------------

modprobe ceph || die "modprobe ceph"
mkdir $C
mount -t hostfs -o "$root" none $C || die "hostfs"
mount -t proc proc $C/proc
mount -t sysfs sys $C/sys
mount --bind /dev $C/dev
for dir in run tmp mnt etc/ceph var/lib/ceph var/log/ceph; do
	mkdir -p "$C/$dir"
	mount -t tmpfs -o mode=755 tmp "$C/$dir"
done
mkdir $C/run/ceph
ip link set lo up
hostname ceph
cp /ceph/cluster.sh /bin/fio $C/tmp/
in_root bash /tmp/cluster.sh > /out/cluster 2>&1 || die "cluster: $(tail -n 3 /out/cluster)"
mount -t ceph -o noshare,mount_timeout=120 127.0.0.1:6789:/ $C/mnt || die "mount"
say "mounted at $(now) s"
set_file 262144 /sys/module/blog/parameters/max_kb

# storm N: makes, looks at and removes files; each a request to the MDS
storm() {
	# shellcheck disable=SC2016 # bash's
	in_root bash -c 'mkdir /mnt/storm && cd /mnt/storm && for ((i = 0; i < $1; i++)); do echo > f$i; done &&
		ls -l > /dev/null && cd / && rm -r /mnt/storm' - "$1" || die "storm"
}

# --- what is recorded is what is printed ---------------------------------------------

empty 65536 8192
each print +pml
storm 20
in_root /tmp/fio --name=load --filename=/mnt/load --size=8m --bs=16k --rw=randrw --direct=1 \
	--ioengine=psync --time_based --runtime=1 --randseed=1 > /tmp/fio.out || die "fio"
each print -pml
each enable 0
each save printed
dmesg > /out/printed
dmesg -c > /dev/null
say "compared"

# --- stalls -------------------------------------------------------------------------------

empty 65536 1024
in_root bash -c 'echo 1 > /mnt/before'
in_root pkill -STOP ceph-mds
in_root mkdir /mnt/stalled &
sleep 5
each save mds
in_root pkill -CONT ceph-mds
wait
in_root pkill -STOP ceph-osd
in_root dd if=/dev/zero of=/mnt/stalled-write bs=64k count=4 conv=fsync 2> /dev/null &
sleep 5
each save osd
in_root pkill -CONT ceph-osd
wait
say "stalled"
umount $C/mnt
