#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BLog beside its peers: costs, bytes, and fio on rnull, all in one boot. What this
# kernel does not have is left out; /out/facts says what it has.
# shellcheck disable=SC1091,SC2154
# shellcheck source=tests/bench/guest/lib.sh
. /bench/lib.sh
# shellcheck source=tests/bench/guest/lttng.sh
. /bench/lttng.sh
# shellcheck source=tests/bench/guest/bytes.sh
. /bench/bytes.sh
# shellcheck source=tests/bench/guest/fio.sh
. /bench/fio.sh

load_blog
mount -t tracefs trace $TRACING || die "no tracefs"
facts
# As much for each ring, so that all of them stay in the caches alike.
set_file 256 $TRACING/buffer_size_kb
set_file 1 $TRACING/tracing_on
for event in "$TRACING"/events/blog_bench/event_on_*/enable; do set_file 1 "$event"; done
set_file "func bench_pr_debug_on_* +p" $CONTROL
dmesg -n 1

if [ "$lttng" = yes ]; then lttng_start 64k; fi
all="empty. loop. blog_ floor_ clock_ function_ none. none_ trace_printk. event_ pr_debug_"
run "cases task $rounds $n $all $(lttng_case)"
run "cases softirq $rounds $n empty. loop. blog_on. trace_printk. event_on. $(lttng_case)"
run "cases hardirq $rounds $n empty. loop. blog_on. trace_printk. event_on. $(lttng_case)"
# ftrace's own clock may cost nothing (UML counts ticks), so also with the one
# that BLog has where it hasn't the TSC.
run "mark mono"
set_file mono $TRACING/trace_clock
run "cases task $rounds $n empty. loop. blog_on. trace_printk. event_on."
set_file local $TRACING/trace_clock
run "each 4000"
run "new $new"
say "costs are measured"

bytes_of_blog
bytes_of_peers
if [ "$lttng" = yes ]; then lttng_stop; fi
keep_results
say "bytes are measured"
set_file 0 "$TRACING/events/blog_bench/enable"

if [ "$fio" = yes ]; then fio_rounds; fi
