#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The crash kernel's: saves the log, as kdump-tools does. Then it brings the dump to the second
# disk, as it is or through makedumpfile. The runner finds its size in /out/size, the log in
# /out/*/blog, and the seconds that both took in /out/seconds. Parameters in /crash/params:
# makedumpfile (its options; empty: the whole of /proc/vmcore).
# shellcheck disable=SC2154
. /lib.sh
. /crash/params

uptime() { cut -d' ' -f1 /proc/uptime; }

[ -s /proc/vmcore ] || die "no /proc/vmcore"
start=$(uptime)
KDUMP_COREDIR=/out /bin/kdump > /out/kdump 2>&1 || die "kdump: $(cat /out/kdump)"
saved=$(uptime)
if [ -z "$makedumpfile" ]; then
	size=$(stat -c %s /proc/vmcore)
	dd if=/proc/vmcore of=/dev/vdb bs=1M 2> /out/dd || die "dd: $(cat /out/dd)"
else
	# To a stream, as where dumps go over the network: so this is the flattened form.
	# shellcheck disable=SC2086
	size=$({ /makedumpfile/run -F $makedumpfile /proc/vmcore 2> /out/makedumpfile ||
		touch /out/failed; } | tee /dev/vdb | wc -c)
	[ ! -e /out/failed ] || die "makedumpfile: $(tail -n 3 /out/makedumpfile)"
fi
sync
echo "$start $saved $(uptime)" > /out/seconds
echo "$size" > /out/size
say "dumped"
