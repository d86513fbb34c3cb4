# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2154
#
# LTTng in the guest: a session that overwrites, with the events that are meant for
# it. Sourced by scripts in the guest.

# Why there is no LTTng, or that there is
lttng_running=no

lttng_case() { [ $lttng_running = no ] || echo lttng.; }

# lttng_fails WHAT: goes on without it, and says so with what it has said last
lttng_fails() {
	why="$1 failed: $(grep rror /tmp/lttng.log | tail -n 1)"
	say "no LTTng: $why"
	echo "lttng no: $why" >>/out/facts
	tail -n 20 /tmp/lttng.log >/out/lttng.log
}

# lttng_start SIZE: a session with four sub-buffers of that size
lttng_start() {
	# Debian 12's babeltrace2 reads no later format.
	export HOME=/tmp LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu \
		LTTNG_SESSIOND_DEFAULT_TRACE_FORMAT=ctf-1.8
	ifconfig lo up 2>/dev/null
	mkdir -p /var/run /dev/shm
	mount -t tmpfs shm /dev/shm
	for module in lttng-tracer lttng-ring-buffer-client-overwrite \
		lttng-ring-buffer-client-mmap-overwrite lttng-ring-buffer-metadata-client \
		lttng-ring-buffer-metadata-mmap-client lttng-probe-blog_bench; do
		modprobe $module >>/tmp/lttng.log 2>&1 || { lttng_fails "modprobe $module" && return; }
	done
	# As a daemon it would not tell what is wrong.
	lttng-sessiond --kmod-probes=blog_bench >>/tmp/lttng.log 2>&1 &
	sessiond=$!
	# Its last thread to start writes this.
	while [ ! -s /var/run/lttng/lttng-sessiond.pid ]; do
		kill -0 $sessiond || { lttng_fails "lttng-sessiond" && return; }
		sleep 0.1
	done
	lttng_session "$1" || { lttng_fails "the session" && return; }
	lttng_running=yes
	echo "lttng yes" >>/out/facts
}

# The events that are measured; there are more, to have many in a channel.
lttng_events=lttng_1,lttng_2,lttng_2x32,lttng_4,lttng_8,lttng_rnull,lttng_str

# lttng_session SIZE [CONTEXT]: with four sub-buffers of that size. A snapshot session
# overwrites: it is the flight recorder that BLog is, too. With a context, it is part
# of each record, and there are more than 31 events in the channel.
lttng_session() {
	{
		lttng create bench --snapshot --output=/out/lttng &&
			lttng enable-channel --kernel --overwrite --subbuf-size="$1" --num-subbuf=4 bench &&
			if [ -n "${2-}" ]; then
				lttng add-context --kernel --type="$2" --channel=bench &&
					lttng enable-event --kernel --channel=bench 'lttng_*'
			else
				lttng enable-event --kernel --channel=bench $lttng_events
			fi &&
			lttng start
	} >>/tmp/lttng.log 2>&1
}

# lttng_bytes NAME: what its buffers hold now
lttng_bytes() {
	lttng snapshot record --name="$1" >>/tmp/lttng.log 2>&1 || die "lttng snapshot record"
}

lttng_stop() {
	lttng destroy bench >>/tmp/lttng.log 2>&1
	killall lttng-sessiond
	lttng_running=no
}
