# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2034
#
# BLog's files, and a disk of rnull, whose driver logs. For scripts that have ok() and not_ok(),
# which print the result of a test, and die(), which ends all.

# BLog's files are in tracefs, too. Kernels without debugfs have only those.
BLOG=/sys/kernel/debug/blog
[ -d /sys/kernel/debug ] || BLOG=/sys/kernel/tracing/blog
RNULL=$BLOG/rnull
CONFIG=/sys/kernel/config/rnull
DISK=/dev/rnullb0

# same NAME WORD WORD: one test: are they the same?
same() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1: '$2', should be '$3'"; fi
}

# tests_of PROGRAM...: runs a program that prints KTAP: its tests are tests here
tests_of() {
	"$@" > /tmp/tests_of
	seen=0 plan=none
	while read -r first second third rest; do
		case "$first $second" in
		"1.."*) plan=${first#1..} ;;
		"ok "*) seen=$((seen + 1)) && ok "$third $rest" ;;
		"not ok") seen=$((seen + 1)) && not_ok "$rest" ;;
		esac
	done < /tmp/tests_of
	[ $seen = "$plan" ] || not_ok "$*: $seen of $plan tests: $(tail -n 1 /tmp/tests_of)"
}

# set_file VALUE FILE: writes a control file, or ends the test
set_file() {
	echo "$1" 2> /tmp/error > "$2" || die "$1 > $2: $(cat /tmp/error)"
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
