#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# One run in the guest: the module tortures, helpers disturb and look, and at the
# end /out has what the verifier needs. Parameters come in /torture/params.
# shellcheck disable=SC2154,SC2086
. /torture/lib.sh
. /torture/params

prepare
# Where there are many more CPUs than emulate them, the scheduler's server of fair tasks finds its
# timer queued when it puts that off, and warns of it (hrtimer_forward()).
if [ "$(nproc)" -gt 8 ]; then
	for runtime in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do
		echo 0 > "$runtime" || die "$runtime"
	done
fi
modprobe blog_torture seconds="$seconds" $module || die "modprobe blog_torture $module"
say "torture for $seconds s on $(nproc) CPUs"
helpers $helpers
torture_wait
helpers_end
# What was in an interrupt at the end is done now.
sleep 1
truth end
verdict
for helper in $helpers; do
	helped "$helper" || die "the $helper did nothing"
	say "$helper: $(cat "/out/$helper")"
done
say "levels:$(levels)"
rmmod blog_torture || die "rmmod blog_torture"
