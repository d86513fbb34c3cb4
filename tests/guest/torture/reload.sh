#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Modules go and come back under load: the torture module is unloaded while all
# of its contexts log, and another build of it is loaded. Tasks that have logged
# live on, and end. Parameters come in /torture/params.
# shellcheck disable=SC2154,SC2086,SC3028
. /torture/lib.sh
. /torture/params

# lingerers: tasks that have logged, and live a little longer
lingerers() {
	while [ ! -e /tmp/stop ]; do
		(
			echo 5 > $TORTURE/log || exit
			exec sleep 0.$((RANDOM % 10))
		) 2>/dev/null
	done
}

modprobe blog || die "modprobe blog"
round=1
while [ "$round" -le "$rounds" ]; do
	# Short runs of two builds, ended by rmmod in their midst. Each run has
	# writers of its own, and its sums are in the kernel's log.
	dmesg -c > /dev/null
	rm -f /tmp/stop
	lingerers &
	one=$!
	lingerers &
	two=$!
	run=1
	for ko in "$(find /lib/modules -name blog_torture.ko)" /torture/other.ko \
		"$(find /lib/modules -name blog_torture.ko)"; do
		insmod "$ko" seconds=60 run=$run $module || die "insmod $ko"
		sleep 2
		# Somebody may be just writing to the module's file.
		tries=0
		until rmmod blog_torture 2>/dev/null; do
			tries=$((tries + 1))
			[ $tries -lt 200 ] || die "rmmod blog_torture"
		done
		run=$((run + 1))
	done
	# What is left in the rings of modules that are gone, and another run on top.
	insmod /torture/other.ko seconds=2 run=$run $module || die "insmod other.ko"
	torture_wait
	touch /tmp/stop
	wait $one $two
	sleep 1
	truth end
	verdict
	while ! rmmod blog_torture; do sleep 0.1; done
	say "round $round: $run runs"
	round=$((round + 1))
done
