#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# How soon records are in a stream, and in the output of blog-decode --follow. Prints TAP
# for the runner.
. /lib.sh

DISK=/dev/rnullb0

blog_on
rings 32768 16384 overwrite
disk_on 64
tests_of streams latency "$RNULL/stream" $DISK 50
mkfifo /tmp/lines
blog-decode -f --new -c rnull --format '{message}' > /tmp/lines &
tests_of streams latency - $DISK 100 < /tmp/lines
kill $!
tap_end
