#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# An NFS server and a client of it on one machine, with the messages of both recorded: see
# tests/suites/test_nfs.py. The daemons are those of a Debian of their own, whose folder on the host
# is named in /nfs/params; nothing there is changed but what is on a tmpfs.
# shellcheck disable=SC2154
. /lib.sh
. /nfs/params

N=/tmp/nfs
MODULES="sunrpc nfs nfsv3 nfsv4 nfsd lockd"

# each FUNCTION ...: with each module at the end
each() {
	for module in $MODULES; do "$@" "$module"; done
}
enable() { set_file "$1" "$BLOG/$2/enable"; }
save() { cat "$BLOG/$2/snapshot" > "/out/$1.$2.snap" || die "no snapshot of $2"; }
room() {
	set_file 1 "$BLOG/$1/clear"
	set_file 65536 "$BLOG/$1/size_kb"
	set_file 8192 "$BLOG/$1/ring_kb"
}
empty() {
	each enable 0
	each room
	each enable 1
}
# print MASK FLAG: what rpcdebug and dynamic debug print
print() {
	for mask in rpc nfs nfsd nlm; do set_file "$1" "/proc/sys/sunrpc/${mask}_debug"; done
	for module in $MODULES; do
		echo "module $module $2p" > /sys/kernel/debug/dynamic_debug/control
	done
}
in_root() { chroot $N /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C "$@"; }

# --- server and client -------------------------------------------------------------

modprobe -a $MODULES || die "modprobe"
mkdir $N
mount -t hostfs -o "$root" none $N || die "hostfs"
mount -t proc proc $N/proc
mount -t nfsd nfsd $N/proc/fs/nfsd || die "nfsd's files"
mount --bind /dev $N/dev
for dir in run tmp mnt srv var/lib/nfs; do
	mkdir -p "$N/$dir"
	mount -t tmpfs -o mode=755 tmp "$N/$dir"
done
mkdir $N/var/lib/nfs/rpc_pipefs $N/var/lib/nfs/sm $N/var/lib/nfs/v4recovery $N/run/rpcbind
: > $N/var/lib/nfs/etab
: > $N/var/lib/nfs/rmtab
mount -t rpc_pipefs rpc $N/var/lib/nfs/rpc_pipefs || die "rpc_pipefs"
ip link set lo up
set_file 10 $N/proc/fs/nfsd/nfsv4leasetime
{
	in_root rpcbind &&
		in_root rpc.nfsd 4 &&
		in_root exportfs -i -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 127.0.0.1:/srv &&
		in_root rpc.mountd
} > /out/server 2>&1 || die "server: $(tail -n 3 /out/server)"
in_root mount -t nfs -o vers=4.2 127.0.0.1:/ /mnt 2>&1 || die "mount"
say "mounted at $(cut -d' ' -f1 /proc/uptime) s"
set_file 524288 /sys/module/blog/parameters/max_kb

# load FILES: names, data, attributes, and a lock, each a call of the client and one of the server
load() {
	# shellcheck disable=SC2016 # bash's
	in_root bash -c 'mkdir /mnt/load && cd /mnt/load && for ((i = 0; i < $1; i++)); do echo > f$i; done &&
		ls -l > /dev/null && dd if=/dev/zero of=data bs=64k count=16 conv=fsync 2> /dev/null &&
		flock data cat data > /dev/null && cd / && rm -r /mnt/load' - "$1" || die "load"
}

# --- what is recorded is what is printed ---------------------------------------------

empty
dmesg -c > /dev/null
print 32767 +
load "$files"
print 0 -
each enable 0
each save printed
dmesg -r > /out/printed
dmesg -c > /dev/null
in_root umount /mnt
in_root mount -t nfs -o vers=3,tcp,nolock 127.0.0.1:/srv /mnt 2>&1 || die "mount of version 3"
empty
print 32767 +
load "$files"
print 0 -
each enable 0
each save printed3
dmesg -r > /out/printed3
in_root umount /mnt
in_root mount -t nfs -o vers=4.2 127.0.0.1:/ /mnt || die "mount again"
say "compared"

# --- a server that stops -------------------------------------------------------------

empty
load 2
in_root rpc.nfsd 0
in_root mkdir /mnt/stalled &
sleep 5
each save stalled
in_root rpc.nfsd 4
wait
[ -d $N/mnt/stalled ] || die "it didn't go on"
say "stalled"
in_root umount /mnt
