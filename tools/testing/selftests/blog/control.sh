#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Control files in a running kernel: bad input is refused with the right error and
# changes nothing, good input is accepted.
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/lib.sh"

# state: all that a control file could change
state() {
	for file in enable level mode private size_kb ring_kb warn_share; do
		grep -H . "$BLOG"/*/$file
	done
	cat "$BLOG/control"
}

# has FILE: a kernel may lack the part that this is of
has() { [ -e "$BLOG/$1" ] || ! ktap_test_skip "$1"; }

# refused ERROR FILE VALUE: VALUE is for printf, escapes and all
refused() {
	has "$2" || return
	before=$(state)
	# shellcheck disable=SC2059
	printf "$3" 2> /tmp/error > /tmp/value
	# One write() of exactly these bytes.
	if dd if=/tmp/value of="$BLOG/$2" bs=8192 2> /tmp/error; then
		not_ok "$2 takes '$3'"
	elif ! grep -q "$1" /tmp/error; then
		not_ok "$2 refuses '$3' with: $(head -n 1 /tmp/error)"
	elif [ "$before" != "$(state)" ]; then
		not_ok "$2 refuses '$3' and changes something"
	else
		ok "$2 refuses '$3'"
	fi
}

# taken FILE VALUE [READ-BACK]: it then reads as VALUE, or as READ-BACK, where that isn't ''
taken() {
	has "$1" || return
	if ! echo "$2" 2> /tmp/error > "$BLOG/$1"; then
		not_ok "$1 refuses '$2': $(cat /tmp/error)"
	elif [ -n "${3-$2}" ] && [ "$(cat "$BLOG/$1")" != "${3-$2}" ]; then
		not_ok "$1 after '$2' says '$(cat "$BLOG/$1")'"
	else
		ok "$1 takes '$2'"
	fi
}

INVAL='Invalid argument'

blog_on
declared=$(cat "$RNULL/ring_kb")
disk_on 64

for value in '\n' ' ' 2 -1 01 0x1 yes on '1 1' '1;' '\001' '1\0001' '\377' \
	"$(printf '%4097s' 1)"; do
	refused "$INVAL" rnull/enable "$value"
done
for value in '\n' 6 -1 Debug verbose 'debug info' 'debug,' '\377\376'; do
	refused "$INVAL" rnull/level "$value"
done
for value in '\n' 0 1 Overwrite circular 'discard x'; do
	refused "$INVAL" rnull/mode "$value"
done
for value in '\n' 0 hashed 'hash keep'; do
	refused "$INVAL" rnull/private "$value"
done
for value in '\377' "$(printf '%4097s' 1)"; do
	refused "$INVAL" rnull/marker "$value"
done
for value in '\n' on 'site=0' 'site=1 if=0:u3:eq:0' 'hang after=1' 'off off'; do
	refused "$INVAL" rnull/trigger "$value"
done
for file in rnull/size_kb rnull/ring_kb; do
	for value in '\n' 0 1 7 -1 +64 64k 64.5 0x100 '64 64' 4294967296 99999999999999999999 \
		1048577 '６４'; do
		refused "$INVAL" "$file" "$value"
	done
done
for value in '\n' -1 1025 '8 8'; do
	refused "$INVAL" rnull/warn_share "$value"
done
refused 'No space left' rnull/size_kb 1048576
for value in '\n' 0 2 yes '1 1'; do
	refused "$INVAL" rnull/clear "$value"
done
for value in '\n' +p\ +p bogus 'bogus +p' module 'module +p' 'module a module b +p' 'site +p' \
	'site x +p' 'site 2-1 +p' 'site 1-2-3 +p' 'site 262144 +p' 'level 9 +p' 'level off +p' \
	'level debug' 'file x.c +p' '+x' '=' '-' 'site 1 +p trailing' \
	'site 1 +p; nonsense' 'level debug +p\nsite 1 +q' '\377 +p'; do
	refused "$INVAL" control "$value"
done
refused 'No such file' control 'module nosuch +p'
refused 'No such file' control 'site 262143 +p'
refused 'No such file' control 'site 1 +p; module nosuch +p'

for file in stats snapshot rnull/stats rnull/snapshot; do
	if echo 1 2> /dev/null > "$BLOG/$file"; then
		not_ok "$file can be written"
	else
		ok "$file can't be written"
	fi
done
for file in "$BLOG"/* "$RNULL"/*; do
	[ -f "$file" ] || continue
	case $(stat -c %a "$file") in
	440 | 640 | 200 | 400) ok "${file#"$BLOG"/} is root's to write" ;;
	*) not_ok "${file#"$BLOG"/} has mode $(stat -c %a "$file")" ;;
	esac
done

for value in 0 1; do taken rnull/enable $value; done
for value in err warn info debug trace off; do taken rnull/level $value; done
taken rnull/level 4 debug
for value in discard overwrite; do taken rnull/mode $value; done
for value in omit keep hash; do taken rnull/private $value; done
taken rnull/size_kb 2048
taken rnull/ring_kb 128
taken rnull/trigger off
for value in 0 1024 8; do taken rnull/warn_share $value; done
taken rnull/clear 1 ''
taken control 'module rnull_mod +p' ''
taken control 'module rnull_mod =_' ''

# What a switched-off component logs, and a switched-off site: nothing.
records() { sed -n 's/^records //p' "$RNULL/stats"; }
io() { dd if=$DISK of=/dev/null bs=4k count=8 iflag=direct 2> /dev/null || not_ok "8 I/Os"; }
expect() {
	before=$(records)
	io
	got=$(($(records) - before))
	same "$2" "$got" "$1"
}
taken rnull/enable 1
taken rnull/level debug
expect 16 "switched on: a record for each submission and completion"
taken rnull/level info
expect 0 "level info: no debug records"
taken control 'module rnull_mod level debug +p' ''
expect 16 "sites that are forced on log below their level"
taken control 'module rnull_mod level debug =_' ''
taken rnull/level debug
taken control 'module rnull_mod level debug -p' ''
expect 0 "sites that are forced off log at no level"
taken control 'module rnull_mod level debug =_' ''
taken rnull/enable 0
expect 0 "switched off: nothing"
refused 'Bad file descriptor' rnull/marker 'nobody reads this'
taken rnull/enable 1
expect 16 "switched on again: as before"
before=$(records)
taken rnull/marker 'a line' ''
same "a marker is a record" "$(records)" $((before + 1))

disk_off
rmmod rnull_mod || not_ok "rmmod rnull_mod"
if [ -d "$RNULL" ]; then
	ok "the history of an unloaded driver has its files"
else
	not_ok "the history of an unloaded driver has no files"
fi
taken rnull/enable 0
taken rnull/enable 1
# While somebody has a file of it open, whose removal nobody waits for.
exec 7< "$RNULL/stats"
taken rnull/clear 1 ''
exec 7<&-
n=0
while [ -d "$RNULL" ] && [ $n -lt 50 ]; do
	sleep 0.1
	n=$((n + 1))
done
if [ -d "$RNULL" ]; then
	not_ok "an unloaded driver's component that is cleared stays"
else
	ok "an unloaded driver's component that is cleared goes, files and all"
fi
modprobe rnull_mod || not_ok "modprobe rnull_mod"
same "it comes back with the settings that it was declared with" \
	"$(cat "$RNULL/ring_kb")" "$declared"
finish
