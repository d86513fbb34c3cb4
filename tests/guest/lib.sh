# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Shared by the scripts that run in a guest: where things are, and the disk.
# tests/vm.py puts it into every initrd as /lib.sh; sourced with busybox's sh.

# BLog's files are in tracefs, too. Kernels without debugfs have only those.
BLOG=/sys/kernel/debug/blog
[ -d /sys/kernel/debug ] || BLOG=/sys/kernel/tracing/blog
RNULL=$BLOG/rnull
CONFIG=/sys/kernel/config/rnull
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

# tests_of PROGRAM...: runs a program that prints tests of its own
tests_of() {
	"$@" > /tmp/tests_of || failures=$((failures + 1))
	cat /tmp/tests_of
	tests=$((tests + $(grep -cE '^guest: (not )?ok - ' /tmp/tests_of)))
}

# same NAME WORD WORD: one test: are they the same?
same() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1: '$2', should be '$3'"; fi
}

# set_file VALUE FILE: writes a control file, or ends the test
set_file() {
	echo "$1" 2>/tmp/error > "$2" || die "$1 > $2: $(cat /tmp/error)"
}

# get KEY FILE: prints the value of a line "KEY VALUE"
get() {
	while read -r key value; do
		if [ "$key" = "$1" ]; then
			echo "$value"
			return
		fi
	done < "$2"
}

# torture_wait: waits for the end of a run of blog_torture
torture_wait() {
	while read -r state < /sys/kernel/debug/blog_torture/state; [ "$state" != "done" ]; do
		sleep 1
	done
}

# blog_on: loads BLog (where it isn't built in) and the driver
blog_on() {
	[ -d "$BLOG" ] || modprobe blog || die "modprobe blog"
	modprobe rnull_mod || die "modprobe rnull_mod"
	[ -d "$RNULL" ] || die "no $RNULL"
}

# rings KIB-IN-ALL KIB-PER-RING MODE: sizes for the test. A component that is off
# and cleared can take any; what the driver has counted so far is not in the log.
rings() {
	set_file "$(($1 + 65536))" /sys/module/blog/parameters/max_kb
	set_file 0 "$RNULL/enable"
	set_file 1 "$RNULL/clear"
	set_file "$1" "$RNULL/size_kb"
	set_file "$2" "$RNULL/ring_kb"
	set_file "$3" "$RNULL/mode"
	set_file debug "$RNULL/level"
	set_file 1 "$RNULL/enable"
	witnesses start
}

# disk_on MIB: a disk of 512-byte blocks that completes in softirq
disk_on() {
	mkdir "$CONFIG/rnullb0" || die "mkdir rnullb0"
	set_file 1 "$CONFIG/rnullb0/irqmode"
	set_file 512 "$CONFIG/rnullb0/blocksize"
	set_file "$1" "$CONFIG/rnullb0/size"
	set_file 1 "$CONFIG/rnullb0/power"
	# What is asked for is what the driver sees: no merging, no reordering.
	set_file 2 /sys/block/rnullb0/queue/nomerges
	set_file none /sys/block/rnullb0/queue/scheduler
}

# disk_off
disk_off() {
	set_file 0 "$CONFIG/rnullb0/power"
	rmdir "$CONFIG/rnullb0" || die "rmdir rnullb0"
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
