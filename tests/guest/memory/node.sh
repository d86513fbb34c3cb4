#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A task that may use the memory of one node only takes more than that, while others log:
# it is killed at once, and BLog has what it had. Prints TAP for the runner.
. /lib.sh

blog_on
disk_on 64
set_file debug "$RNULL/level"
set_file 16384 "$RNULL/size_kb"
for _ in 1 2; do
	while :; do
		dd if=/dev/rnullb0 of=/dev/null bs=4096 count=16384 iflag=direct 2> /dev/null
	done &
	loggers="$loggers $!"
done
sleep 2
before=$(get bytes "$RNULL/stats")

kills() { dmesg | grep -c 'oom-kill:'; }

# killed NAME COMMAND...: by the OOM killer, soon
killed() {
	name=$1 since=$(cut -d. -f1 /proc/uptime) old=$(kills) rc=0
	shift
	timeout -s TERM 240 "$@" || rc=$?
	say "$name: ended with $rc after $(($(cut -d. -f1 /proc/uptime) - since)) s"
	if [ "$(kills)" -gt "$old" ] && [ "$rc" != 143 ] && [ "$rc" != 124 ]; then
		ok "$name is killed"
	else
		not_ok "$name is killed"
	fi
}

killed "a task that is bound to a node" hog node 1 2000

mkdir -p /cgroup
mount -t cgroup2 none /cgroup || die "mount cgroup2"
set_file +cpuset /cgroup/cgroup.subtree_control
mkdir /cgroup/bound || die "mkdir"
set_file 1 /cgroup/bound/cpuset.mems
killed "a task in a cpuset" sh -c 'echo $$ > /cgroup/bound/cgroup.procs && exec hog touch 2000'

same "BLog has what it had" "$(get bytes "$RNULL/stats")" "$before"
if [ "$(get records "$RNULL/stats")" -gt 1000 ]; then ok "tasks have logged"; else not_ok "tasks have logged"; fi
# shellcheck disable=SC2086
kill $loggers
tap_end
