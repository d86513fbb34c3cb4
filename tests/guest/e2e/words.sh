#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Something goes wrong after tasks have logged; the runner reads the console. On the kernel's command
# line: "last=" events that are to have last words, as the parameter numbers them, "quiet_driver"
# that nothing is logged, "hang" that a task waits for what another one has, "oops" (where there is
# blog_crash) that a thread dies, "lockup" that a task spins. Else, and in the end, the first process
# ends: a panic.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs tracing /sys/kernel/tracing
mount -t configfs config /sys/kernel/config
. /lib.sh

PARAMETER=/sys/module/blog/parameters/last_words
read -r cmdline < /proc/cmdline
case " $cmdline " in
*" quiet_driver "*) exit 7 ;;
esac
blog_on
# Where the kernel has the patches, settings of its own choose the events.
choose() {
	if [ -e "$PARAMETER" ]; then
		set_file "$1" "$PARAMETER"
		return
	fi
	bit=1
	for name in panic_sys_info kernel_sys_info hung_task_sys_info softlockup_sys_info; do
		[ $(($1 & bit)) = 0 ] || echo blog > "/proc/sys/kernel/$name" || die "$name"
		bit=$((bit * 2))
	done
}
for word in $cmdline; do
	case $word in
	last=*) choose "${word#last=}" ;;
	esac
done
log() {
	n=0
	while [ $((n += 1)) -le "$2" ]; do
		echo "$1 $n" > "$RNULL/marker"
	done
}
# The first task sleeps with a mutex, the second one waits for that.
hung() {
	log "$1" 300
	exec cat /sys/kernel/debug/hung_task/mutex
}

# What runs in the background reads it.
mknod /dev/null c 1 3
case " $cmdline " in
*" hang "*)
	echo 1 > /proc/sys/kernel/hung_task_timeout_secs
	hung has &
	sleep 1
	hung wants &
	until dmesg | grep -q "task cat:$! blocked"; do sleep 1; done
	say "has ${!} waits"
	;;
*" oops "*)
	modprobe blog_crash records=100 || die "modprobe blog_crash"
	echo oops > /sys/module/blog_crash/parameters/scene || die "scene oops"
	until dmesg | grep -q 'end trace'; do sleep 1; done
	;;
*" lockup "*)
	echo 1 > /proc/sys/kernel/watchdog_thresh
	(log spins 300; echo SOFTLOCKUP > /sys/kernel/debug/provoke-crash/DIRECT) &
	until dmesg | grep -q 'soft lockup'; do sleep 1; done
	sleep 1
	;;
esac
say "goes on"
log line 2000
exit 7
