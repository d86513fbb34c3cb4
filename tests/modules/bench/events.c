// SPDX-License-Identifier: GPL-2.0
/* Tracepoints: off, and on for ftrace */

#include "bench.h"

#define CREATE_TRACE_POINTS
#include "bench_events.h"

#define ALL_LOOPS(what)							\
BENCH_LOOP(what, 1, trace_##what##_1(a))				\
BENCH_LOOP(what, 2, trace_##what##_2(a, b))				\
BENCH_LOOP(what, 2x32, trace_##what##_2x32(a, b))			\
BENCH_LOOP(what, 4, trace_##what##_4(a, b, c, d))			\
BENCH_LOOP(what, 8, trace_##what##_8(a, b, c, d, e, f, g, h))		\
BENCH_LOOP(what, rnull, trace_##what##_rnull(a, b, c, d))		\
BENCH_LOOP(what, str11, trace_##what##_str(a))				\
BENCH_LOOP(what, str64, trace_##what##_str(a))

ALL_LOOPS(event_off)
ALL_LOOPS(event_on)

const struct bench_case bench_event_cases[] = {
	BENCH_EACH(BENCH_CASE, event_off)
	BENCH_EACH(BENCH_CASE, event_on)
	{ }
};
