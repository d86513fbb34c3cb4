#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A distribution's kernel, and what may happen to it: a driver that is built or stripped wrongly, or
# is loaded again and again; CPUs that go and come back; sleep; and lockdown. Prints TAP; the last
# snapshot goes to /out.
. /lib.sh

NAME=$BLOG/kernels
OF=/sys/module/blog_kernels/parameters
CPUS=/sys/devices/system/cpu

load() { modprobe blog_kernels tasks=20 each=50 interrupts=5 || die "modprobe blog_kernels"; }

# log: has the driver log once; the number of records is in $logged
log() {
	logged=$(cat $OF/logged)
	set_file log $OF/step
	logged=$(($(cat $OF/logged) - logged))
}

# counts: what the component has taken and lost so far
counts() { echo "$(($(get records $NAME/stats) - ${1:-0})) $(($(get lost $NAME/stats) - ${2:-0}))"; }

# logs NAME: one test: all that the driver logs is counted, and nothing lost
logs() {
	# shellcheck disable=SC2046 # two words
	set -- "$1" $(counts)
	log
	same "$1" "$(counts "$2" "$3")" "$logged 0"
}

# says NAME TEXT: one test: the kernel's log has it
says() { if dmesg | grep -q "$2"; then ok "$1"; else not_ok "$1: $(dmesg | tail -n 3)"; fi; }

cat $CPUS/vulnerabilities/* > /out/vulnerabilities
modprobe blog || die "modprobe blog"

# Drivers that can't log
insmod /silent/uncompiled.ko || die "insmod uncompiled.ko"
says "a driver whose formats are not compiled" \
	"blog_kernels can't log: its build has not run blog-fmt-sidetable on it"
[ "$(get sites_without_id $BLOG/stats)" -gt 0 ] && ok "its sites are counted" || not_ok "its sites are counted"
set_file log $OF/step
same "it has no record" "$(counts)" "0 0"
rmmod blog_kernels || die "rmmod"
insmod /silent/stripped.ko || die "insmod stripped.ko"
says "a driver without symbols" "blog_kernels was stripped of its symbols: it can't log"
rmmod blog_kernels || die "rmmod"

# Reloads, while others read
while [ ! -e /tmp/stop ]; do cat $BLOG/snapshot > /dev/null || exit 1; done &
reader=$!
total=0
for _ in $(seq 30); do
	load
	log
	total=$((total + logged))
	rmmod blog_kernels || die "rmmod blog_kernels"
done
touch /tmp/stop
wait $reader && ok "snapshots meanwhile" || not_ok "snapshots meanwhile"
same "all records of 30 loads are counted" "$(counts)" "$total 0"

load

# CPUs
for cpu in 1 3; do
	set_file 0 $CPUS/cpu$cpu/online
	logs "without CPU $cpu"
	set_file 1 $CPUS/cpu$cpu/online
	logs "with CPU $cpu again"
done

# Sleep, as far as can be without a wake-up: a few seconds
set_file core /sys/power/pm_test
set_file mem /sys/power/state
logs "after sleep"

# Lockdown
mount -t securityfs security /sys/kernel/security || die "mount securityfs"
set_file integrity /sys/kernel/security/lockdown
if cat $NAME/enable 2> /dev/null; then not_ok "lockdown refuses enable"; else ok "lockdown refuses enable"; fi
set_file 'kernels:size_kb=2048' /sys/module/blog/parameters/component
same "a parameter sets what files can't" "$(cat /sys/module/blog/parameters/component)" "kernels:size_kb=2048"
log
cat $BLOG/snapshot > /out/snapshot && ok "a snapshot can be read" || not_ok "a snapshot can be read"
tap_end
