# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What test suites share. A suite is a program in this folder that prints TAP
# lines ("ok - NAME", "not ok - NAME", "ok - NAME # SKIP WHY") and may print
# anything else between them; scripts/test runs it and counts. A line
# "# kernels: FLAVOUR..." in it names the kernels that it needs; a line "# tests: N"
# says how many tests it has, and fewer are a failure.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
# shellcheck source=scripts/versions.sh
. "$BLOG_TOP/scripts/versions.sh"
# shellcheck source=scripts/env.sh
. "$BLOG_TOP/scripts/env.sh"
# shellcheck source=scripts/kernel.sh
. "$BLOG_TOP/scripts/kernel.sh"

SUITE=$(basename "$0")
# Of the suites, only these look at arguments. Other runners source this, too.
[[ $# == 0 || $SUITE =~ ^(crash|debug)$ || $(basename "$(dirname "$0")") != suites ]] ||
	die "no arguments, please"
WORK=$BLOG_CACHE/test/$SUITE
rm -rf "$WORK"
mkdir -p "$WORK"

ok() { printf 'ok - %s\n' "$*"; }
not_ok() { printf 'not ok - %s\n' "$*"; }
skip() { printf 'ok - %s # SKIP %s\n' "$1" "$2"; }

# try NAME COMMAND...: one test: does the command succeed? Its output is shown,
# indented, if it doesn't.
try() {
	local name=$1 out=$WORK/try.log
	shift
	if "$@" >"$out" 2>&1 </dev/null; then
		ok "$name"
	else
		not_ok "$name"
		tail -n 40 "$out" | sed 's/^/  | /'
	fi
}

# unittests COMMAND...: what Python's unittest says with -v, as TAP; its status
unittests() {
	local rc=0
	PYTHONDONTWRITEBYTECODE=1 "$@" >"$WORK/unittests.log" 2>&1 </dev/null || rc=$?
	sed -nE "s/^(test_[a-z0-9_]+) .*\.\.\. ok\$/ok - \1/p
		s/^(test_[a-z0-9_]+) .*\.\.\. (FAIL|ERROR)\$/not ok - \1/p
		s/^(test_[a-z0-9_]+) .*\.\.\. skipped '(.*)'\$/ok - \1 # SKIP \2/p" "$WORK/unittests.log"
	((rc == 0)) || indented <"$WORK/unittests.log"
	return "$rc"
}

# indented: passes output on so that none of it is taken for TAP
indented() { sed -u 's/^/  | /'; }

# decoder: builds blog-decode and prints its path
decoder() {
	"$BLOG_TOP/scripts/build-decode" >&2
	echo "$BLOG_TOP/tools/blog-decode/target/release/blog-decode"
}
