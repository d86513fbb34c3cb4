#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# blog-decode on the files of a running kernel: --follow, record and blog-ctl. Prints
# TAP for the runner.
. /lib.sh

# is NAME COMMAND...
is() {
	name=$1
	shift
	if "$@" > /tmp/is 2>&1; then ok "$name"; else not_ok "$name: $(head -n 3 /tmp/is | tr '\n' ' ')"; fi
}

# comes PATTERN COUNT FILE: waits until as many lines match
comes() {
	for _ in $(seq 600); do
		[ "$(grep -c "$1" "$3")" -ge "$2" ] && return 0
		sleep 0.1
	done
	not_ok "only $(grep -c "$1" "$3") of $2 times '$1': $(tail -n 3 "$3" "$3.err" | tr '\n' ' ')"
}

# io COUNT: that many reads, a record each at submission and at completion
io() { dd if=/dev/rnullb0 of=/dev/null bs=4k count="$1" iflag=direct 2> /dev/null; }

# stop PID: asks it to end; its status
stop() {
	kill -INT "$1"
	wait "$1"
}

blog_on
rings 32768 16384 overwrite
disk_on 64

# --- follow
is "the program runs here" blog-decode --version --verbose
io 8
blog-decode -f --format '{component} {message}' > /tmp/all 2> /tmp/all.err &
all=$!
comes '^rnull queue Read' 8 /tmp/all
blog-decode -f --new -c rnull --json > /tmp/new 2> /tmp/new.err &
new=$!
# It is there when its first record is.
for _ in $(seq 300); do
	io 1
	[ -s /tmp/new ] && break
	sleep 0.2
done
io 100
comes '^rnull queue Read' 109 /tmp/all
is "the past is not new" test "$(grep -c queue /tmp/new)" -lt "$(grep -c queue /tmp/all)"
# The driver goes and comes back meanwhile, with a disk.
disk_off
is "a driver that is followed can go" rmmod rnull_mod
modprobe rnull_mod || not_ok "modprobe rnull_mod"
disk_on 64
before=$(grep -c queue /tmp/all)
io 16
comes '^rnull queue Read' $((before + 16)) /tmp/all
# Nothing is logged any more: wait until it has shown all that there is.
blog-decode show --format '{component} {message}' "$BLOG/snapshot" | grep '^rnull' | sort > /tmp/shown
comes '^rnull' "$(grep -c . /tmp/shown)" /tmp/all
stop $all
is "a signal ends it with status 0" test $? = 0
is "all shown, none lost, and how late" grep -E 'records shown in .*none lost; at most [0-9.]+ s behind' /tmp/all.err
stop $new
is "so it does with JSON and one component" test $? = 0
grep '^rnull' /tmp/all | sort > /tmp/followed
is "what was followed is what was in the rings" cmp /tmp/shown /tmp/followed

# --- control
count() { grep -c "$1" /tmp/count; }
# logs QUEUED COMPLETED WHAT: of eight reads
logs() {
	echo 1 > "$RNULL/clear"
	io 8
	blog-decode show --format '{message}' "$BLOG/snapshot" > /tmp/count
	if [ "$(count '^queue Read') $(count '^complete Read')" = "$1 $2" ]; then
		ok "$3"
	else
		not_ok "$3: $(count '^queue Read') queued, $(count '^complete Read') completed"
	fi
}
is "the state is shown" sh -c 'blog-ctl | grep -E "^rnull  +yes debug"'
is "a level is set" blog-ctl 'component rnull level=info'
logs 0 0 "then there are no debug records"
is "a dry run says which sites" sh -c "blog-ctl --dry-run 'format queue +p' | grep '^on .*queue'"
logs 0 0 "and switches none"
is "sites are switched by format" sh -c "blog-ctl 'format queue level debug +p' | grep 'rnull_mod: 0 -> '"
logs 8 0 "these log, and no others"
line=$(blog-decode sites --json /lib/modules/*/blog/rnull_mod*.blogfmt |
	sed -n 's/.*"line":\([0-9]*\),.*"format":"complete.*/\1/p' | head -n 1)
is "sites are switched by file and line" blog-ctl "file rnull.rs:$line +p"
logs 8 8 "these log, too"
is "all follow the level again" blog-ctl 'module rnull_mod =_; component rnull level=debug'
logs 8 8 "as before"
if blog-ctl 'component rnull off' 'format nosuchtext +p' 2> /tmp/error; then
	not_ok "an unknown site is no error"
else
	is "an unknown site is an error" grep 'no call site is like that' /tmp/error
fi
is "and nothing was done" test "$(cat "$RNULL/enable")" = 1
is "what the kernel refuses is reported" sh -c "! blog-ctl 'component rnull size_kb=1' && blog-ctl 'component rnull size_kb=1' 2>&1 | grep 'out of range; nothing was changed'"

# --- record
echo 1 > "$RNULL/clear"
# Small files: several in this test.
blog-decode record -o /out/rec --file-size 2k 2> /tmp/rec.err &
rec=$!
reads=0
for n in 1 2 3; do
	# What a file begins with, all that the rings hold, doesn't count for its size.
	for _ in $(seq 600); do
		[ -e "/out/rec/blog.00000$n.stream" ] && break
		io 20
		reads=$((reads + 20))
		sleep 0.1
	done
done
# It ends with what was logged before it was asked to.
io 7
echo $((reads + 7)) > /out/reads
stop $rec
is "recording ends with status 0" test $? = 0
is "in several files" test -e /out/rec/blog.000003.stream
is "and no part of one" sh -c '! ls /out/rec/*.part'
blog-decode record --every 0.2 --duration 1 -o /out/snaps 2> /tmp/error || not_ok "snapshots: $(cat /tmp/error)"
is "snapshots are recorded" sh -c 'blog-decode /out/snaps | grep -q "queue Read"'

# --- save
blog-decode save -o /out/saved 2> /out/saved.err || not_ok "save: $(cat /out/saved.err)"
is "a saved file has records" sh -c 'blog-decode /out/saved | grep -q "queue Read"'
is "and the kernel log" sh -c 'blog-decode --dmesg /out/saved /out/saved | grep -q "dmesg: Linux version"'
is "and settings" sh -c 'blog-decode --about /out/saved | grep "^rnull/level: debug"'
blog-decode save --redact -o /out/redacted 2> /tmp/error || not_ok "redacted: $(cat /tmp/error)"
is "a redacted one has no kernel log" sh -c '! blog-decode --about /out/redacted | grep "kernel log"'
tap_end
