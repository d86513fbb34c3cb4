# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2034
#
# Shared by the tests here. A test that needs what the machine lacks is skipped. Captures are left
# in BLOG_OUT, if that is set, for a comparison with what blog-decode makes of them.

. "$HERE/../kselftest/ktap_helpers.sh"
. "$HERE/common.sh"

OUT=${BLOG_OUT:-$(mktemp -d)}

die() { ktap_exit_fail_msg "$@"; }

# KTAP has neither wildcards nor backslashes in names, which the helpers' echo would look at.
name() { printf '%s' "$*" | tr '\\*?[' '%+._'; }
ok() { ktap_test_pass "$(name "$@")"; }
not_ok() { ktap_test_fail "$(name "$@")"; }

# finish: the last line of a test, as far as which it must come
finish() {
	ktap_set_plan $((KTAP_TESTNO - 1))
	ktap_finished
}

# skip WHY: ends the test
skip() {
	ktap_skip_all "$@"
	exit "$KSFT_SKIP"
}

ktap_print_header
[ "$(id -u)" = 0 ] || skip "only root may do this"
[ -d "$BLOG" ] || modprobe blog 2> /dev/null || skip "this kernel has no BLog"
