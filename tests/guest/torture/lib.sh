# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2034,SC2154,SC3028
#
# Shared by the scripts of torture, besides /lib.sh: readers, the sampler of memory,
# and helpers that change settings and start tasks. Each runs until /tmp/stop exists.
. /lib.sh
TORTURE=/sys/kernel/debug/blog_torture

# levels: how often rings got memory from which level, of all components that are there
levels() {
	cat "$BLOG"/torture*/stats |
		awk '/^from_/ { n[$1] += $2 } END { for (key in n) printf " %s %d", key, n[key] }'
}

# settings "COMPONENT/FILE=VALUE"...
settings() {
	for setting in "$@"; do set_file "${setting#*=}" "$BLOG/${setting%%=*}"; done
}

# prepare "COMPONENT/FILE=VALUE"...: loads BLog, and settings before anybody logs.
# A component is there with its module; what this run logs has a number of its own.
prepare() {
	[ -d "$BLOG" ] || modprobe blog || die "modprobe blog"
	set_file "$max_kb" /sys/module/blog/parameters/max_kb
	modprobe blog_torture run=255 workers=0 storm=0 irq_us=0 ipi_us=0 instances=0 ||
		die "modprobe blog_torture"
	settings "$@"
	set_file stop $TORTURE/state
	cat $TORTURE/truth > /out/prepare.truth || die "reading truth"
	rmmod blog_torture || die "rmmod blog_torture"
	# Its verdict is not the test's.
	dmesg -c > /dev/null
}

# truth NAME: keeps what was logged, and what is in the rings
truth() {
	cat $TORTURE/truth > "/out/$1.truth" || die "reading truth"
	cat $BLOG/snapshot > "/out/$1.snap" || die "reading snapshot"
	mkdir -p "/out/$1.files"
	for file in stats control; do
		cat $BLOG/$file > "/out/$1.files/$file" || die "reading $file"
	done
	for file in "$BLOG"/torture*/stats; do
		name=${file%/stats}
		cat "$file" > "/out/$1.files/${name##*/}.stats" || die "reading $file"
	done
}

# verdict: passes on the module's own
verdict() {
	dmesg | sed -n 's/^\[[^]]*\] //; /blog_torture: /p' > /out/verdict
	tail -n 1 /out/verdict | grep blog_torture | sed 's/^/guest: /'
	grep -q 'errors: SUCCESS$' /out/verdict || die "the module says FAILURE"
	! grep -q 'errors: FAILURE$' /out/verdict || die "the module says FAILURE"
}

# reader KEEP: reads snapshots; the last KEEP stay
reader() {
	count=0
	while [ ! -e /tmp/stop ]; do
		cat $BLOG/snapshot > "/out/mid.$((count % $1)).snap" || die "reading snapshot"
		count=$((count + 1))
		# A reader that gives up half way, with odd sizes.
		dd if=$BLOG/torture/snapshot of=/dev/null bs=777 count=9 2>/dev/null ||
			die "reading a component's snapshot"
		echo $count > /out/reader
	done
}

# sampler: at no instant may pages exceed a budget. A limit that is being changed
# counts as the larger of what it was before and after.
sampler() {
	samples=0 most=0
	while [ ! -e /tmp/stop ]; do
		for dir in "$BLOG"/torture*; do
			before=$(cat "$dir/size_kb" 2>/dev/null) || continue
			bytes=$(get bytes "$dir/stats" 2>/dev/null)
			after=$(cat "$dir/size_kb" 2>/dev/null) || continue
			[ -n "$bytes" ] || continue
			[ "$after" -ge "$before" ] || after=$before
			if [ "$bytes" -gt $((after * 1024)) ]; then
				say "FAILED: ${dir##*/} has $bytes bytes of $after KiB"
				echo "${dir##*/} $bytes $after" >> /out/over-budget
			fi
			samples=$((samples + 1))
		done
		used=$(get used_kb $BLOG/stats)
		[ "$used" -le "$most" ] || most=$used
		if [ "$used" -gt "$(get max_kb $BLOG/stats)" ]; then
			say "FAILED: $used KiB in all"
			echo "all $used" >> /out/over-budget
		fi
		echo "samples $samples most_kb $most" > /out/sampler
	done
}

# pick WORD...: one of them
pick() {
	shift $((RANDOM % $#))
	echo "$1"
}

# flipper: turns all knobs. Components may go meanwhile, and a budget may be too
# small for what is there (EBUSY) or more than all may have (ENOSPC).
flipper() {
	flips=0
	while [ ! -e /tmp/stop ]; do
		for dir in "$BLOG"/torture*; do
			name=${dir##*/}
			case $name in
			torture_crowd | torture_history) continue ;;
			esac
			knob=$(pick enable level mode size_kb ring_kb clear)
			case $knob in
			enable) value=$(pick 0 1 1) ;;
			level) value=$(pick off info debug trace) ;;
			mode) value=$(pick overwrite overwrite discard) ;;
			size_kb) value=$(pick 64 256 1024 3000) ;;
			ring_kb) value=$(pick 8 16 32 100) ;;
			clear)
				value=1
				echo "$name" >> /out/cleared
				;;
			esac
			echo "$value" 2>/dev/null > "$dir/$knob" && flips=$((flips + 1))
		done
		echo "$(pick 'module blog_torture level debug -p' 'module blog_torture level trace +p' \
			'module blog_torture =_')" 2>/dev/null > $BLOG/control
		echo $flips > /out/flipper
	done
}

# users: short-lived processes that log, and one record each while they end
users() {
	ended=0
	while [ ! -e /tmp/stop ]; do
		(
			exec 3> $TORTURE/log || exit
			echo $((1 + RANDOM % 9)) >&3
		) 2>/dev/null
		( echo 3 > $TORTURE/log ) 2>/dev/null && ended=$((ended + 1))
		echo $ended > /out/users
	done
}

# sleeper: has the machine sleep in RAM; in the end, which clock it is then
sleeper() {
	set_file +10 /sys/class/rtc/rtc0/wakealarm
	set_file mem /sys/power/state
	while [ ! -e /tmp/stop ]; do sleep 0.2; done
	get clock $BLOG/stats > /out/sleeper
}

# sysrq: has all CPUs sent NMIs by one of them
sysrq() {
	# Their stack traces are of no interest, and no complaints.
	echo 0 > /proc/sys/kernel/printk
	sent=0
	while [ ! -e /tmp/stop ]; do
		echo l > /proc/sysrq-trigger && sent=$((sent + 1))
		echo $sent > /out/sysrq
		sleep 0.2
	done
}

# helpers NAME...: starts these; helpers_end ends them
helpers() {
	rm -f /tmp/stop
	helper_pids=
	for helper in "$@"; do
		case $helper in
		reader) reader 2 & ;;
		*) $helper & ;;
		esac
		helper_pids="$helper_pids $!"
	done
}

# helped NAME: has this one done what it is for? In its file is how often
helped() {
	read -r times < "/out/$1" || return 1
	case $times in 0 | "samples 0 "*) return 1 ;; esac
}

helpers_end() {
	touch /tmp/stop
	for pid in $helper_pids; do wait "$pid" || die "a helper failed"; done
	[ ! -e /out/over-budget ] || die "memory beyond a budget"
}
