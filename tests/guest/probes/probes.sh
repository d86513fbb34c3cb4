#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes in a running kernel, by blog-decode: what they record of processes is what the shell knows
# of its own. Prints TAP for the runner.
# shellcheck disable=SC2016
. /lib.sh

# look: puts the messages into a file
look() {
	cat "$RNULL/snapshot" > /tmp/snapshot || die snapshot
	blog-decode --format '{message} of {comm}[{pid}]' /tmp/snapshot > /tmp/records 2> /tmp/error
}

# refused WHY NAME PROBE
refused() {
	if blog-ctl probe add "$2" "$3" 2> /tmp/error; then
		not_ok "'$3' is taken"
	elif grep -q "$1" /tmp/error; then
		ok "'$3' is refused"
	else
		not_ok "'$3': $(cat /tmp/error)"
	fi
}

blog_on
blog-ctl probe add rnull 'f:kernel_clone%return "clone = %d" $retval' || die "probe of a return"
blog-ctl probe add rnull --level warn 'f:do_exit "exit %lu %s" $arg1 comm' || die "probe of an entry"
blog-ctl probe add rnull 't:sched_process_exit "gone %p" $arg1' || die "probe of a tracepoint"

children=
for code in 3 4 5; do
	(exit $code) &
	children="$children$! "
	wait $! || true
done
look
me=$(cat /proc/$$/comm)
# The first ones were blog-decode, which has made the other probes.
same "returns have the children's ids" "$children" \
	"$(sed -n "s/^clone = \([0-9]*\) of $me\[$$\]\$/\1/p" /tmp/records | sed -n 3,5p | tr '\n' ' ')"
same "entries have arguments" "768 1024 1280 " \
	"$(sed -n 's/^exit \([1-9][0-9]*\) .*/\1/p' /tmp/records | tr '\n' ' ')"
same "the tracepoint is as often as the function" \
	"$(grep -c "^exit [1-9]" /tmp/records)" "$(grep -c "^gone .* of $me\[" /tmp/records)"

blog-ctl probe list > /tmp/list || die "probe list"
same "all are listed" 3 "$(wc -l < /tmp/list)"
if grep -q '^rnull [0-9]* warn f:do_exit "exit %lu %s" \$arg1 comm$' /tmp/list; then
	ok "with what was written"
else
	not_ok "list: $(cat /tmp/list)"
fi
blog-ctl probe remove rnull || die "probe remove"
same "all are removed" "" "$(cat "$RNULL/probes")"
look
before=$(grep -c "^clone" /tmp/records)
(exit 0)
look
same "and record nothing more" "$before" "$(grep -c "^clone" /tmp/records)"

refused 'no such function' rnull 'f:blog_no_such'
refused "can't be probed" rnull 'f:exc_int3'
[ -e /sys/kernel/btf/vmlinux ] || refused "needs the kernel's types" rnull 'f:do_exit "%lu" code'
refused 'No such file' nobody 'f:do_exit'

# Probes of a driver go with it.
blog-ctl probe add rnull 'f:do_exit' || die "probe without a format"
rmmod rnull_mod || die "rmmod rnull_mod"
same "a driver that goes takes its probes along" "" "$(cat "$RNULL/probes")"
refused "isn't loaded" rnull 'f:do_exit'

tap_end
