#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Debian's kernel, with its types: probes of ftrace and of BLog at the same functions, at the same
# time; and probes come and go while they are hit. Prints TAP for the runner, which compares the hits.
# shellcheck disable=SC2016
. /lib.sh

TRACING=/sys/kernel/tracing
LOG=$BLOG/rust_blog

# One probe each: the event of ftrace, and what BLog is given
EVENTS='p:beside/entry do_exit value=%di:u64
r:beside/back kernel_clone value=$retval:u64
p:beside/inside kernel_clone value=+0(%di):u64'

# ours: a line "KIND TID VALUE" for each hit
ours() {
	cat "$LOG/snapshot" > /tmp/snapshot || die snapshot
	blog-decode --format '{message} {pid}' /tmp/snapshot 2> /tmp/error |
		sed -n 's/^beside \([a-z]*\) \([0-9]*\) \([0-9]*\)$/\1 \3 \2/p'
}

# theirs: the same of ftrace
theirs() {
	sed -n 's/^.*-\([0-9]*\) *\[.*: \([a-z]*\): (.*) value=\([0-9]*\)$/\2 \1 \3/p' $TRACING/trace
}

modprobe blog || die "modprobe blog"
modprobe rust_blog || die "modprobe rust_blog"
echo "$EVENTS" > $TRACING/kprobe_events || die "ftrace's events"
echo 1 > $TRACING/events/beside/enable || die "enabling them"
blog-ctl probe add rust_blog 'f:do_exit "beside entry %lu" code' || die "entry"
blog-ctl probe add rust_blog 'f:kernel_clone%return "beside back %lu" $retval' || die "return"
blog-ctl probe add rust_blog 'f:kernel_clone "beside inside %llu" args->flags' || die "argument"
echo > $TRACING/trace
echo 1 > "$LOG/clear"
for code in $(seq 100); do (exit $((code % 100 + 1))) & done
wait
echo 0 > $TRACING/events/beside/enable
blog-ctl probe remove rust_blog || die "remove"
theirs > /out/theirs
ours > /out/ours

# --- under load
set_file 0 $TRACING/events/enable
while [ ! -e /tmp/stop ]; do (exit 1); done &
while [ ! -e /tmp/stop ]; do (exit 1); done &
entry=$(blog-ctl probe add --dry-run rust_blog 'f:do_exit "load %lu" code')
back=$(blog-ctl probe add --dry-run rust_blog 'f:kernel_clone%return "load %lu" $retval')
point=$(blog-ctl probe add --dry-run rust_blog 't:sched_process_exit "load %s" p->comm')
for round in $(seq 40); do
	for line in "$entry" "$back" "$point"; do
		echo "$line" > "$LOG/probes" || die "round $round: $line"
	done
	cat "$LOG/snapshot" > /tmp/snapshot || die "round $round: snapshot"
	while read -r site _; do
		echo "-$site" > "$LOG/probes" || die "round $round: -$site"
	done < "$LOG/probes"
done
: > /tmp/stop
wait
same "none is left" "" "$(cat "$LOG/probes")"
ours=$(blog-decode --format '{message}' /tmp/snapshot | grep -c '^load')
[ "$ours" -gt 0 ] && ok "they have recorded" || not_ok "no record of 40 rounds"
rmmod rust_blog && ok "nothing holds the module" || not_ok "rmmod"
tap_end
