#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A module that only has a component keeps BLog loaded, and calls that log to it find its rings.
# Prints TAP for the runner.
. /lib.sh

modprobe blog || die "modprobe blog"
modprobe blog_owner || die "modprobe blog_owner"
if [ -d "$BLOG/owner" ]; then ok "the component is there"; else not_ok "the component is there"; fi
rmmod blog 2> /tmp/error
same "BLog stays while it is" $? 1
say "rmmod: $(cat /tmp/error)"
modprobe blog_borrower || die "modprobe blog_borrower"
same "its records are counted" "$(get records "$BLOG/owner/stats")" 1000
rmmod blog_borrower || die "rmmod blog_borrower"
rmmod blog_owner || die "rmmod blog_owner"
rmmod blog
same "BLog goes after the last" $? 0
modprobe blog && modprobe blog_owner && modprobe blog_borrower || die "a second time"
same "a new BLog has new rings" "$(get records "$BLOG/owner/stats")" 1000
tap_end
