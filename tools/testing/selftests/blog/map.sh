#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The memory of a component, mapped: who may, and what system calls do; and mappings through
# everything that can happen to the component. Prints TAP for the runner; leaves copies of what is
# logged in /out, by mapping and by stream, which tests/suites/test_map.py compares.
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/lib.sh"

MAP=/sys/kernel/tracing/blog/rnull/map
DISK=/dev/rnullb0

io() { dd if=$DISK of=/dev/null bs=4k count="$1" iflag=direct 2> /dev/null; }

# hold COUNT: so many processes map the component's memory, until "let_go"
holders=
hold() {
	rm -f /tmp/stop /tmp/hold.*
	for i in $(seq "$1"); do
		"$HERE/maps" hold $MAP /tmp/stop > "/tmp/hold.$i" &
		holders="$holders $!"
	done
	sleep 0.5
}
let_go() {
	touch /tmp/stop
	for pid in $holders; do wait "$pid" || not_ok "a process that maps has died"; done
	holders=
}

# copies NAME MS: what four tasks log at a time, by mapping, every MS, and by stream
copies() {
	# tools/blog-decode/examples/mapcopy.rs of BLog's repository
	command -v mapcopy > /dev/null || { ktap_test_skip "$1: copied" && return; }
	rm -f /tmp/stop
	mapcopy $MAP "$OUT/$1.map" /tmp/stop "$2" &
	by_map=$!
	"$HERE/streams" copy "$RNULL/stream" "$OUT/$1.stream" /tmp/stop &
	by_stream=$!
	sleep 0.5
	for _ in 1 2 3; do
		io 500 &
		pids="$!"
		for _ in 1 2 3; do
			io 500 &
			pids="$pids $!"
		done
		for pid in $pids; do wait "$pid" || not_ok "reading"; done
	done
	touch /tmp/stop
	if wait $by_map && wait $by_stream; then
		ok "$1: copied"
	else
		not_ok "$1: a copy failed"
	fi
	cat "$RNULL/snapshot" > "$OUT/$1.snapshot"
	cat "$RNULL/stats" > "$OUT/$1.stats"
}

blog_on
mkdir -p "$CONFIG" 2> /dev/null
rings 16384 8192 overwrite
disk_on 64
copies all 20
disk_off
# Pages come and go, rings get other tasks, and readers are too slow.
rings 256 8 overwrite
disk_on 64
copies lag 300
disk_off
rings 4096 256 overwrite
disk_on 64
io 100
same "it is the owner's alone" "$(stat -c %a $MAP)" 400
tests_of "$HERE/maps" calls $MAP

set_file 2 /proc/sys/kernel/kptr_restrict
same "who may not see addresses may not map" "$("$HERE/maps" error $MAP)" EPERM
set_file 0 /proc/sys/kernel/kptr_restrict
same "else it can be mapped" "$("$HERE/maps" error $MAP)" none
if [ -d /sys/kernel/debug/blog ]; then
	same "by debugfs, too" "$("$HERE/maps" error /sys/kernel/debug/blog/rnull/map)" none
fi

# 64 processes, under load, while the component changes.
used=$(get used_kb "$BLOG/stats")
hold 64
for kb in 1024 8192 512 4096; do
	io 200
	set_file $kb "$RNULL/size_kb"
	io 200
done
set_file 0 "$RNULL/enable"
set_file 1 "$RNULL/enable"
io 200
same "what is taken away is nobody's while it is mapped" "$(get used_kb "$BLOG/stats")" "$used"
let_go
same "all of them see that it has changed" "$(awk '$1 > 4' /tmp/hold.* | wc -l)" 64
io 100

# What isn't any more.
hold 4
set_file 0 "$RNULL/enable"
set_file 1 "$RNULL/clear"
same "without memory, there is nothing to map" "$("$HERE/maps" error $MAP)" ENODATA
sleep 0.1
let_go
same "a process that has it mapped finds out" "$(sort -u /tmp/hold.*)" 0
set_file 1 "$RNULL/enable"
io 10
same "it has memory again" "$("$HERE/maps" error $MAP)" none

# The driver goes. Its component stays, with what it has.
hold 4
disk_off
if rmmod rnull_mod; then ok "a mapping doesn't keep the driver"; else not_ok "rmmod rnull_mod"; fi
same "what it has left can be mapped" "$("$HERE/maps" error $MAP)" none
set_file 1 "$RNULL/clear"
let_go
same "and what goes then is gone" "$(sort -u /tmp/hold.*)" 0
finish
