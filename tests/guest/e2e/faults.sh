#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Each allocation that BLog makes fails once: while it and a driver are loaded,
# while a component is switched on, grows, is cleared and read. Then they fail
# at random. Every operation must either work or end with a clean error, and
# work when it is repeated; afterwards, no memory may leak. Needs
# CONFIG_FAULT_INJECTION; prints TAP for the runner. $deep=1: every allocation,
# else those that CI has time for. Parameters come in /e2e/params.
# shellcheck disable=SC2154
. /lib.sh
. /e2e/fault-lib.sh
. /e2e/params

# A guest in slow motion: avoid forking where possible.

# fails_cleanly NAME N: /tmp/error has the command's message, $rc its status.
# The kernel reports a failed allocation, or busybox does.
fails_cleanly() {
	[ "$rc" != 0 ] || return 0
	error=
	read -r error < /tmp/error
	case $error in
	*'Cannot allocate memory'* | *[Oo]'ut of memory'*) return 0 ;;
	# The page that a reader's buffer had not been given yet
	*'Bad address'*) [ "${1#reading}" = "$1" ] || return 0 ;;
	esac
	not_ok "$1, allocation $2 fails: ends with $rc: $error"
	return 1
}

# works NAME COMMAND: without failures, afterwards
works() {
	sh -c "$2" > /dev/null 2> /tmp/error && return 0
	not_ok "$1 doesn't work any more: $(cat /tmp/error)"
	return 1
}

# each NAME COMMAND UNDO: runs COMMAND with its first allocation failing, then
# with its second, and so on until there is none left
each() {
	n=1 tolerated=0
	while :; do
		injected
		before=$injected rc=0
		sh -c "echo $n > /proc/self/fail-nth; $2" > /dev/null 2> /tmp/error || rc=$?
		injected
		[ "$injected" != "$before" ] || break
		fails_cleanly "$1" $n || return
		[ "$rc" != 0 ] || tolerated=$((tolerated + 1))
		[ -z "$3" ] || sh -c "$3" > /dev/null 2>&1
		n=$((n + 1))
		if [ "$n" -gt "$most" ] && [ "$deep" != 1 ]; then
			say "# $1: more than $most allocations, the rest is for the deep run"
			break
		fi
	done
	if [ "$n" = 1 ]; then
		not_ok "$1: no allocation failed"
	elif works "$1" "$2"; then
		ok "$1: each of $((n - 1)) allocations fails, $tolerated tolerated"
	fi
}

# often NAME COMMAND UNDO: $rounds times, with allocations failing at random in
# that task alone
often() {
	injected
	before=$injected failed=0 n=0
	while [ "$n" -lt "$rounds" ]; do
		n=$((n + 1)) rc=0
		sh -c "echo 1 > /proc/self/make-it-fail; $2" > /dev/null 2> /tmp/error || rc=$?
		fails_cleanly "$1" "$n" || return
		[ "$rc" = 0 ] || failed=$((failed + 1))
		[ -z "$3" ] || sh -c "$3" > /dev/null 2>&1
	done
	injected
	if [ "$injected" = "$before" ]; then
		not_ok "$1: no allocation failed in $rounds rounds"
	elif works "$1" "$2"; then
		ok "$1: $((injected - before)) failures in $rounds rounds, it failed $failed times"
	fi
}

# operations HOW: all of them
operations() {
	"$1" "switching on" "echo 1 > $RNULL/enable" \
		"echo 0 > $RNULL/enable; echo 1 > $RNULL/clear"
	"$1" "growing" "echo 4096 > $RNULL/size_kb" "echo 512 > $RNULL/size_kb"
	"$1" "reading a snapshot" "exec cat $BLOG/snapshot" ""
	[ "$deep" = 1 ] || [ "$1" = each ] || return 0
	"$1" "reading a component's snapshot" "exec cat $RNULL/snapshot" ""
	for file in stats rnull/stats; do
		"$1" "reading $file" "exec cat $BLOG/$file" ""
	done
	"$1" "switching sites" "echo 'module rnull_mod +p; module rnull_mod =_' > $BLOG/control" ""
}

# log_something: some records, in a few tasks
log_something() {
	for _ in 1 2 3 4; do
		dd if=/dev/rnullb0 of=/dev/null bs=4096 count=64 2> /dev/null || return
	done
}

# module_pages: how many pages modules have allocated and not freed, by page_owner.
# Not those that the kernel itself keeps once it has them: slabs (kmemleak looks
# into these), page tables, stacks of its own debugging.
module_pages() {
	awk 'BEGIN { RS = "" }
		/\[(blog|rnull_mod)\]|0xffffffff[c-f]|rust_helper_alloc_pages/ &&
			!/slab|depot|pcpu_|p[tmu]d_alloc|pte_alloc|kasan|kmemleak/ {
			sub(/.*nr_base_pages: /, "")
			pages += $1
		}
		END { print pages + 0 }' "$DEBUG/page_owner_stacks/show_stacks"
}

faults_ready
most=8 rounds=6
[ "$deep" != 1 ] || rounds=300

# A load that fails leaves nothing. BLog's own start fails for no allocation: so this ends with the
# first one of these, at the latest.
within_loader
n=1 ko=$(echo /lib/modules/*/kernel/kernel/blog/blog.ko)
while [ "$n" -le "$most" ] || [ "$deep" = 1 ]; do
	rc=0
	sh -c "echo $n > /proc/self/fail-nth; exec insmod $ko" > /dev/null 2> /tmp/error || rc=$?
	[ "$rc" != 0 ] || break
	fails_cleanly "loading blog" $n || break
	for left in /sys/module/blog "$BLOG" /sys/kernel/tracing/blog; do
		[ ! -d "$left" ] || not_ok "a load whose allocation $n fails leaves $left"
	done
	n=$((n + 1))
done
if [ "$n" = 1 ]; then
	not_ok "loading blog: no allocation failed"
else
	ok "loading blog: each of $((n - 1)) allocations fails, and leaves nothing"
fi
if [ ! -d /sys/module/blog ]; then
	# None of BLog's own succeeds.
	within_modules
	faults task-filter Y
	faults probability 100
	injected
	before=$injected
	sh -c "echo 1 > /proc/self/make-it-fail; exec insmod $ko" || not_ok "blog doesn't load without memory"
	injected
	faults probability 0
	faults task-filter N
	say "# blog is loaded, of whose allocations $((injected - before)) have failed"
fi
fixed=$(module_pages) fixed_kb=$(get fixed_kb "$BLOG/stats")
# A driver's own allocations don't count.
within_blog
each "loading a driver" "exec modprobe rnull_mod" "rmmod rnull_mod"
[ -d "$RNULL" ] || die "no $RNULL"
disk_on 64
set_file debug "$RNULL/level"
set_file 0 "$RNULL/enable"
set_file 1 "$RNULL/clear"
set_file 512 "$RNULL/size_kb"

operations each
log_something || not_ok "the disk works"
held=$(module_pages)

faults task-filter Y
for percent in 10 50; do
	faults probability $percent
	operations often
done
faults probability 0
faults task-filter N

log_something || not_ok "the disk works"
if [ "$(awk '$1 == "records" { print $2 }' "$RNULL/stats")" -gt 0 ]; then
	ok "it logs as before"
else
	not_ok "it logs no more"
fi

set_file 0 "$RNULL/enable"
set_file 1 "$RNULL/clear"
left=$(awk '$1 == "pages" { print $2 }' "$RNULL/stats")
if [ "$left" = 0 ]; then ok "a cleared component has no pages"; else not_ok "$left pages after clear"; fi
disk_off
rmmod rnull_mod || not_ok "rmmod rnull_mod"

# What BLog keeps: tables of tasks, and a page or two for the list of images.
may=$((fixed + ($(get fixed_kb "$BLOG/stats") - fixed_kb) / 4 + 2))
pages=$(module_pages)
if [ "$held" -le "$may" ]; then
	not_ok "page_owner saw no page of the component"
elif [ "$pages" -le "$may" ]; then
	ok "all pages but $pages are free again (there were $held)"
else
	not_ok "$pages pages are left, of $held, in place of $may"
fi
# It reports objects older than 5 s; twice, as an object may have been on a CPU.
# If it has switched itself off, it refuses.
sleep 6
set_file scan "$DEBUG/kmemleak"
set_file scan "$DEBUG/kmemleak"
cat "$DEBUG/kmemleak" > /out/kmemleak || die "reading kmemleak"
if [ -s /out/kmemleak ]; then
	not_ok "kmemleak: $(grep -c ^unreferenced /out/kmemleak) objects are lost"
else
	ok "kmemleak finds nothing"
fi
tap_end
