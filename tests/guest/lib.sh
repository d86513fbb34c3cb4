# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Shared by the scripts that run in a guest. tests/vm.py puts it into every initrd as /lib.sh,
# and as /common.sh what it shares with BLog's selftests; sourced with busybox's sh.

STAT=/sys/block/rnullb0/stat

say() { echo "guest: $*"; }

die() {
	say "FAILED: $*"
	exit 1
}

# For tests that print TAP. A script ends with "tap_end", whose plan shows the runner that the
# script reached its end; a test that a subshell counts is missing in the plan.
tests=0 failures=0
tap_end() {
	say "1..$tests"
	exit $((failures != 0))
}
ok() {
	say "ok - $*"
	tests=$((tests + 1))
}
not_ok() {
	say "not ok - $*"
	tests=$((tests + 1)) failures=$((failures + 1))
}

# torture_wait: waits for the end of a run of blog_torture
torture_wait() {
	while read -r state < /sys/kernel/debug/blog_torture/state; [ "$state" != "done" ]; do
		sleep 1
	done
}

. /common.sh

# fresh KIB-IN-ALL KIB-PER-RING MODE: rings of these sizes, and what the driver has counted so far
fresh() {
	rings "$@"
	witnesses start
}

# witnesses NAME: what the driver and the block layer counted
witnesses() {
	cat "$CONFIG/blog_stats" > "/out/$1.counters" || die "no blog_stats"
	[ ! -r "$STAT" ] || cat "$STAT" > "/out/$1.stat"
}

# reader KEEP: reads snapshots until /tmp/stop is there; of the last KEEP the
# files stay in /tmp/mid.*, the number of all in /tmp/reads
reader() {
	count=0
	while [ ! -e /tmp/stop ]; do
		if ! cat "$BLOG/snapshot" > "/tmp/mid.$((count % $1))"; then
			# Where allocations fail on purpose, a read may.
			[ "${faults:-0}" != 0 ] || die "reading snapshot"
			rm "/tmp/mid.$((count % $1))"
			continue
		fi
		count=$((count + 1))
		# A reader that gives up half way, with odd sizes.
		dd if="$RNULL/snapshot" of=/dev/null bs=777 count=9 2>/dev/null ||
			[ "${faults:-0}" != 0 ] || die "reading $RNULL/snapshot"
		echo $count > /tmp/reads
	done
}
