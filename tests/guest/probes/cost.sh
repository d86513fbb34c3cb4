#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Debian's kernel, by a clock that counts instructions: what a probe adds to a system call, by
# BLog and by events of ftrace. Prints a line "cost WHAT INSTRUCTIONS" for each.
# shellcheck disable=SC2016
. /lib.sh

TRACING=/sys/kernel/tracing
CALL=__x64_sys_getppid

modprobe blog || die "modprobe blog"
modprobe rust_blog || die "modprobe rust_blog"
# settled WHAT: what it costs when the kernel has done what it does to a probe after a while
settled() {
	sleep 1
	cost "$1"
}

settled none

# event WHAT FILE LINE
event() {
	echo "$3" > "$TRACING/$2" || die "$1"
	echo 1 > $TRACING/events/cost/enable || die "enabling $1"
	settled "$1"
	echo 0 > $TRACING/events/cost/enable
	echo > "$TRACING/$2"
}
event kprobe-event kprobe_events "p:cost/a $CALL"
event kprobe-event-2 kprobe_events "p:cost/a $CALL a=\$arg1 b=\$arg2"
event fprobe-event dynamic_events "f:cost/a $CALL"
event kretprobe-event kprobe_events "r:cost/a $CALL value=\$retval"
event fprobe-return-event dynamic_events "f:cost/a $CALL%return value=\$retval"

# probe WHAT TEXT
probe() {
	blog-ctl probe add rust_blog "$2" || die "$1"
	settled "$1"
	blog-ctl probe remove rust_blog || die "remove $1"
}
probe blog-entry "f:$CALL \"hit\""
probe blog-entry-2 "f:$CALL \"hit %lu %lu\" \$arg1 \$arg2"
probe blog-return "f:$CALL%return \"back %ld\" \$retval"
exit 0
