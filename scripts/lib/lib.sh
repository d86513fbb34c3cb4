# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by all scripts here: places, and steps, which show the user what runs,
# how long it took and which log to read if it failed; also versions.sh, env.sh,
# kernel.sh and tree.sh. Sourced by the scripts beside it; only defines functions.

BLOG_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BLOG_CACHE=${BLOG_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/blog}
BLOG_LOGS=$BLOG_CACHE/logs
export BLOG_TOP BLOG_CACHE

# Byte order of sorted lists and English messages, whatever the user's locale.
export LC_ALL=C

[[ -e /proc/self ]] || { echo "no /proc here: mount -t proc proc /proc" >&2 && exit 1; }

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
	warn "$@"
	exit 1
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# seconds MS: "12.3 s"
seconds() { printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# True if the terminal can redraw a line.
is_tty() { [[ -t 1 && ${TERM:-dumb} != dumb ]]; }

# hash_of WORD...: a short hash of the words
hash_of() { printf '%s\0' "$@" | sha256sum | cut -c1-16; }

# need_root WHAT: for commands that change the system: apt-get becomes another user, and a Debian in
# a folder is entered by chroot
need_root() {
	[[ $(id -u) == 0 ]] || die "must be root: $*"
	chroot / true 2>/dev/null || die "must be root with its capabilities, as CAP_SYS_CHROOT: $*"
}

# lock NAME: waits until no other script has the lock of that name; it is free again when this
# script ends
LOCKS=()
lock() {
	local fd
	mkdir -p "$BLOG_CACHE/locks"
	exec {fd}>"$BLOG_CACHE/locks/$1"
	LOCKS+=("$fd")
	flock --timeout 1 "$fd" || { say "  waiting for another $1 in $BLOG_CACHE" >&2 && flock "$fd"; }
}

# progress_loop LOG NAME T0: prints a step's progress, until it is killed: lines of its log and the
# last one of them. STEP_LINES is how many there will be, if that is known.
progress_loop() {
	local log=$1 name=$2 t0=$3 n last shown=0 fd line
	# Its sleep may outlive the script, and must not keep the script's locks.
	for fd in ${LOCKS[@]+"${LOCKS[@]}"}; do exec {fd}>&-; done
	# It ends with the script, however the script ends.
	while sleep 1 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
		last=$((($(now_ms) - t0) / 1000))
		is_tty || ((last >= shown + 60)) || continue
		shown=$last
		n=$(wc -l <"$log")
		line=$(printf '    %s: %s%s lines, %d s: %s' "$name" "$n" "${STEP_LINES:+ of $STEP_LINES}" "$last" \
			"$(tail -n 1 "$log" | tr -s '[:space:][:cntrl:]' ' ')")
		line=${line//"$BLOG_CACHE"\//}
		if is_tty; then
			printf '\r%s\033[K' "${line:0:$((${COLUMNS:-80} - 1))}"
		else
			printf '%s\n' "${line:0:110}"
		fi
	done
}

# step NAME COMMAND...: runs the command with its output in a log, prints the
# name and the time, and on failure the end of the log and where it is.
step() {
	local name=$1 t0 ms rc=0 log bar
	shift
	mkdir -p "$BLOG_LOGS"
	log=$BLOG_LOGS/$(tr -cs 'A-Za-z0-9_.\n-' - <<<"$name").log
	t0=$(now_ms)
	is_tty || say "  > $name ..."
	: >"$log"
	progress_loop "$log" "$name" "$t0" &
	bar=$!
	# In a subshell, so that "exit" and "set -e" inside end the step.
	set +e
	(set -e; "$@") >>"$log" 2>&1 </dev/null
	rc=$?
	set -e
	{ kill "$bar" && wait "$bar"; } 2>/dev/null || :
	ms=$(($(now_ms) - t0))
	is_tty && printf '\r\033[K'
	if ((rc)); then
		tail -n 25 "$log" | sed 's/^/    | /' >&2
		warn "FAILED after $(seconds $ms): $name (status $rc). Log: $log"
		return "$rc"
	fi
	say "  + $name: $(seconds $ms)"
}

# first_stage NAME: notes what this script has taken so far; scripts/test prints it with its own stages
first_stage() {
	mkdir -p "$BLOG_LOGS"
	times >"$BLOG_LOGS/times"
	tr ms '  ' <"$BLOG_LOGS/times" | awk -v name="$1" -v wall="$SECONDS" -v load="$(</proc/loadavg)" '
		{ cpu += 60 * ($1 + $3) + $2 + $4 }
		END { printf "%s\t%d\t%.0f\t%.1f\n", name, wall, cpu, load }' >"$BLOG_LOGS/stages"
}

# have_step NAME DETAIL: reports that there was nothing to do
have_step() { say "  = $1: up to date${2:+ ($2)}"; }

for part in versions env kernel tree; do . "$BLOG_TOP/scripts/lib/$part.sh"; done
