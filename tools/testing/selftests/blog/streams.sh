#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Streams in a running kernel: what system calls on them do, and captures by
# many readers at once, slow ones, through unloading of the driver and removal
# of a component. Leaves captures and snapshots in $OUT.
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/lib.sh"

# io COUNT: that many I/Os from each of four tasks at once, two records each
io() {
	pids=
	for _ in 1 2 3 4; do
		dd if=$DISK of=/dev/null bs=4k count="$1" iflag=direct 2> /dev/null &
		pids="$pids $!"
	done
	for pid in $pids; do wait "$pid" || not_ok "$1 I/Os"; done
}

# copies NAME COUNT STREAM [BYTES [PAUSE-MS]]: as many readers of STREAM into
# "$OUT/NAME.N", until "no_more"
copies() {
	for i in $(seq "$2"); do
		"$HERE/streams" copy "$BLOG/$3" "$OUT/$1.$i" /tmp/stop ${4:+"$4"} ${5:+"$5"} &
		readers="$readers $!"
	done
}

# no_more: lets all readers read to the end
no_more() {
	touch /tmp/stop
	for pid in $readers; do wait "$pid" || not_ok "a reader failed"; done
	readers=
	rm /tmp/stop
}

# snap NAME: what the rings hold, and what was counted
snap() {
	cat "$BLOG/rnull/snapshot" > "$OUT/$1.snapshot" || not_ok "snapshot"
	cat "$RNULL/stats" > "$OUT/$1.stats"
}

# refused NAME COMMAND...: one test: does the command fail?
refused() {
	name=$1
	shift
	if "$@" 2> /dev/null; then not_ok "$name"; else ok "$name"; fi
}

# phase WHAT: says what comes, and when
phase() { ktap_print_msg "$(cut -d' ' -f1 /proc/uptime) s: $*"; }

readers=
blog_on
mkdir -p "$CONFIG" 2> /dev/null
rings 32768 16384 overwrite
disk_on 64
same "only root can write a stream" "$(stat -c %a "$RNULL/stream")" 440

io 10
tests_of "$HERE/streams" calls "$RNULL/stream" $DISK
# shellcheck disable=SC2046 # two words
tests_of "$HERE/streams" trigger "$RNULL/trigger" $DISK \
	$(sed -n 's/^module rnull_mod site \([0-9]*\)-\([0-9]*\) .*/\1 \2/p' "$BLOG/control")

phase "twenty readers"
# Twenty readers at once, and twenty of snapshots: all see the same.
copies twenty 16 rnull/stream
copies twenty-tiny 1 rnull/stream 7
copies twenty-all 1 stream 1000
"$HERE/streams" cat "$RNULL/stream" "$OUT/twenty-cat.1" /tmp/stop &
readers="$readers $!"
"$HERE/streams" splice "$RNULL/stream" "$OUT/twenty-splice.1" /tmp/stop &
readers="$readers $!"
for _ in $(seq 20); do
	while [ ! -e /tmp/stop ]; do
		cat "$BLOG/snapshot" > /dev/null || exit 1
		sleep 0.3
	done &
	readers="$readers $!"
done
io 1000
sleep 1
no_more
snap twenty

# Readers that are too slow, or stop for a while: the stream reports what they missed.
phase "slow readers"
rings 512 8 overwrite
copies slow 3 rnull/stream 4096 40
copies slow-all 1 stream 512 5
io 2500
no_more
snap slow

# The driver goes and comes back while its stream is open.
phase "reloading the driver"
rings 32768 16384 overwrite
copies reload 2 rnull/stream
copies reload-all 1 stream
for _ in 1 2 3; do
	io 200
	disk_off
	rmmod rnull_mod || not_ok "rmmod rnull_mod while its stream is open"
	modprobe rnull_mod || not_ok "modprobe rnull_mod"
	disk_on 64
done
io 200
no_more
snap reload

# A component whose driver goes away, and which is cleared then: what is left, then the
# end. The stream of all has it too, and modules and components that are new to it.
goes() {
	copies gone-all 1 stream
	modprobe rust_blog || not_ok "modprobe rust_blog"
	cat "$BLOG"/rust_blog_disk0/snapshot > "$OUT/gone.before"
	"$HERE/streams" rest "$BLOG"/rust_blog_disk0/stream "$OUT/gone.rest" /tmp/ready \
		> /tmp/rest &
	rest=$!
	while [ ! -e /tmp/ready ]; do sleep 0.1; done
	rmmod rust_blog || not_ok "rmmod rust_blog while a stream of its component is open"
	cat "$BLOG"/rust_blog_disk0/snapshot > "$OUT/gone.left"
	# Its stream has the last record by then.
	sleep 1
	echo 1 > "$BLOG"/rust_blog_disk0/clear || not_ok "clear of what an instance has left"
	wait $rest
	tests_of cat /tmp/rest
	no_more
	snap gone
}

phase "a component goes"
if [ -d "$BLOG/rust_blog" ]; then
	ktap_test_skip "a component goes: rust_blog is built in, or is loaded"
else
	goes
fi

disk_off
rmmod rnull_mod || not_ok "rmmod rnull_mod"
finish
