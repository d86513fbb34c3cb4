#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A kernel with a wrong value of each of BLog's parameters. Prints TAP for the runner.
. /lib.sh

[ -d "$BLOG" ] || modprobe blog
same "BLog starts" $? 0
blog_on
parameters=/sys/module/blog/parameters
same "the clock is the default" "$(cat $parameters/clock | grep -c tsc) $(get clock $BLOG/stats | grep -cE '^(counter|mono)$')" "1 1"
same "nothing is counted" "$(cat $parameters/counts)" N
same "the limit is the default" "$(cat $parameters/max_kb)" 0
# Only where the kernel has no patches
last_words=
[ ! -e "$parameters/last_words" ] || last_words=last_words
[ ! "$last_words" ] || same "last words are the default" "$(cat "$parameters/$last_words")" 1
same "a kdump kernel is quiet" "$(cat $parameters/kdump)" N
same "what is right among what is wrong holds" "$(cat $parameters/component)" rnull:size_kb=128
same "for the component, too" "$(cat "$RNULL/size_kb")" 128
same "it records" "$(cat "$RNULL/enable")" 1
dmesg > /tmp/dmesg
for name in clock counts max_kb $last_words kdump component; do
	grep -q "blog.*$name.*" /tmp/dmesg
	same "the kernel's log names $name" $? 0
done
for setting in max_kb=x ${last_words:+last_words=8} component=*:enable=2; do
	if echo "${setting#*=}" 2> /dev/null > "$parameters/${setting%%=*}"; then
		not_ok "$setting is refused at run time"
	else
		ok "$setting is refused at run time"
	fi
done
tap_end
