# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# What scripts/guest/qemu and scripts/guest/uml have in common: their options,
# the timeout, the console log, and the verdict. Sourced, never run.

guest_usage() {
	cat <<-USAGE
	usage: $(basename "$0") -k KERNEL -i INITRD [options]
	  -l LOG     console log (default: guest.log beside the initrd)
	  -d DIR     unpack what the guest left in /out into DIR
	  -t SECS    kill it after so long (default 120)
	  -c CPUS    number of CPUs (default 4)
	  -m MIB     memory (default 1024)
	  -a ARGS    more for the kernel command line
	  -q SOCKET  QEMU listens there for QMP commands
	  -n         QEMU's clocks count instructions, a nanosecond each; implies -c 1
	  -s         QEMU's CPUs take turns in one thread
	  -w         let kernel warnings pass
	Lines that the guest starts with "guest: " are shown, without that prefix.
	Exit status: that of the guest's /run; 121 the kernel complained (BUG, WARNING,
	...) though /run was content; 122 the results could not be unpacked; 124 the
	timeout struck; 125 the guest ended without a word, by a crash for example.
	Each boot is a line in the file that BLOG_TALLY names, and each repeat.
	USAGE
	exit "$1"
}

# Sets kernel, initrd, log, dir, secs, cpus, mem, args, qmp, icount, single, warn_ok.
guest_options() {
	kernel='' initrd='' log='' dir='' secs=120 cpus=4 mem=1024 args='' qmp='' icount='' single='' warn_ok=''
	local opt
	while getopts 'k:i:l:d:t:c:m:a:q:nswh' opt; do
		case $opt in
		k) kernel=$OPTARG ;;
		i) initrd=$OPTARG ;;
		l) log=$OPTARG ;;
		d) dir=$OPTARG ;;
		t) secs=$OPTARG ;;
		c) cpus=$OPTARG ;;
		m) mem=$OPTARG ;;
		a) args=$OPTARG ;;
		q) qmp=$OPTARG ;;
		n) icount=1 cpus=1 ;;
		s) single=1 ;;
		w) warn_ok=1 ;;
		h) guest_usage 0 ;;
		*) guest_usage 2 >&2 ;;
		esac
	done
	shift $((OPTIND - 1))
	[[ $# -eq 0 && -n $kernel && -n $initrd ]] || guest_usage 2 >&2
	[[ -f $kernel ]] || { echo "guest: no kernel at $kernel" >&2; exit 2; }
	[[ -f $initrd ]] || { echo "guest: no initrd at $initrd" >&2; exit 2; }
	log=${log:-$(dirname "$initrd")/guest.log}
}

# An empty disk for /out; sets disk.
guest_disk() {
	disk=$(mktemp)
	trap 'rm -f "$disk"' EXIT
	truncate -s 4G "$disk"
}

# What the kernel says when something is wrong with it. A backtrace alone is no
# complaint: sysrq-l is there to print one.
guest_complaints='BUG[ :]|kernel BUG at|WARNING: |Oops: |Kernel panic|invalid opcode|panicked at'
guest_complaints+='|KASAN: |UBSAN: |ODEBUG: |refcount_t: |list_(add|del) corruption|DEBUG_LOCKS_WARN_ON'
guest_complaints+='|[Ss]uspicious RCU usage|possible (circular|recursive|irq|deadlock)|inconsistent lock state'
guest_complaints+='|bad unlock balance|INFO: trying to register non-static key|held lock freed'
guest_complaints+='|scheduling while atomic|sleeping function called|using smp_processor_id\(\)'
guest_complaints+='|detected stall|detected expedited stall|soft lockup|hard LOCKUP|workqueue lockup'
guest_complaints+='|blocked for more than|general protection fault|segfault at|Unable to handle'
guest_complaints+='|stack guard page|corrupted stack end|unregister_netdevice'
guest_complaints+="|unknown parameter '[^']*' ignored"
guest_complaints+='|kmemleak: [1-9][0-9]* new suspected|page allocation failure|UML Unwind'

# guest_complained: what the kernel complained of, to $log.complaints; fails if of
# nothing. The console shows errors only, as warnings would fall into the tests'
# lines; warnings are in the kernel's log, which the guest's init leaves on the disk.
guest_complained() {
	grep -ahE "$guest_complaints" "$log" "$log.dmesg" | sort -u > "$log.complaints"
	[[ -s $log.complaints ]]
}

# guest_run COMMAND...: runs it under the timeout, and exits with the verdict.
guest_run() {
	local status=0 said pid watch
	: > "$log"
	[[ -z ${BLOG_TALLY-} ]] || echo "boot $log" >> "$BLOG_TALLY"
	timeout --kill-after=5 "$secs" "$@" < /dev/null > "$log" 2>&1 &
	pid=$!
	# timeout is in a process group of its own, where Ctrl-C doesn't reach.
	trap 'kill $pid; exit 130' INT TERM
	tail -n +1 -s 0.1 -f --pid="$pid" "$log" | sed -un 's/\r$//; s/^guest: //p' &
	# What dies of a breakpoint in a clock, say, meets that again while it tells of it,
	# and never ends.
	while sleep 1; do
		! grep -q '^Oops: int3: ' "$log" || { sleep 5 && kill "$pid"; }
	done 2>/dev/null &
	watch=$!
	wait "$pid" || status=$?
	kill "$watch"
	wait
	sed -i 's/\r$//' "$log"
	if ((status == 124 || status == 137)); then
		echo "guest: killed after $secs s; console: $log" >&2
		exit 124
	fi
	said=$(sed -n 's/^blog-guest: exit \([0-9]\{1,3\}\)$/\1/p' "$log" | tail -n 1)
	if [[ -z $said ]]; then
		echo "guest: ended without an exit status; console: $log" >&2
		tail -n 12 "$log" >&2
		exit 125
	fi
	if [[ -n $dir ]]; then
		mkdir -p "$dir"
		tar -C "$dir" -xf "$disk" || { echo "guest: no results on its disk" >&2; exit 122; }
	fi
	if ! tar -xOf "$disk" ./dmesg > "$log.dmesg" 2>/dev/null || [[ ! -s $log.dmesg ]]; then
		echo "guest: no kernel log on its disk" >&2
		exit 122
	fi
	if [[ -z $warn_ok ]] && guest_complained; then
		echo "guest: the kernel complained; see $log and $log.dmesg" >&2
		head -n 5 "$log.complaints" >&2
		((said)) || said=121
	fi
	exit "$said"
}
