// SPDX-License-Identifier: GPL-2.0
/*
 * trace_printk() and pr_debug(), as somebody would write them by hand, and the
 * clock that ftrace reads for each event. Of the calls of pr_debug(), those in
 * functions with "_on" in their name are switched on by the runner, through
 * dynamic debug.
 */

#define pr_fmt(fmt) "blog_bench: " fmt

#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/trace_clock.h>

#include "bench.h"

#define FORMAT_0	"nothing\n"
#define FORMAT_1	"%u\n"
#define FORMAT_2	"%u %llu\n"
#define FORMAT_2x32	"%u %u\n"
#define FORMAT_4	"%u %llu %u %llu\n"
#define FORMAT_8	"%u %llu %u %llu %u %llu %u %llu\n"
#define FORMAT_rnull	"queue %u sector=%llu bytes=%u tag=%u\n"
#define FORMAT_str	"%s\n"

#define ALL_LOOPS(what, call)						\
BENCH_LOOP(what, 0, call(FORMAT_0))					\
BENCH_LOOP(what, 1, call(FORMAT_1, a))					\
BENCH_LOOP(what, 2, call(FORMAT_2, a, b))				\
BENCH_LOOP(what, 2x32, call(FORMAT_2x32, a, b))				\
BENCH_LOOP(what, 4, call(FORMAT_4, a, b, c, d))				\
BENCH_LOOP(what, 8, call(FORMAT_8, a, b, c, d, e, f, g, h))		\
BENCH_LOOP(what, rnull, call(FORMAT_rnull, a, b, c, d))			\
BENCH_LOOP(what, str11, call(FORMAT_str, a))				\
BENCH_LOOP(what, str64, call(FORMAT_str, a))

#define ALL_CASES(what)							\
	BENCH_CASE(what, 0),						\
	BENCH_CASE(what, 1),						\
	BENCH_CASE(what, 2),						\
	BENCH_CASE(what, 2x32),						\
	BENCH_CASE(what, 4),						\
	BENCH_CASE(what, 8),						\
	BENCH_CASE(what, rnull),					\
	BENCH_CASE(what, str11),					\
	BENCH_CASE(what, str64)

BENCH_LOOP(clock_local, 0, trace_clock_local())
ALL_LOOPS(trace_printk, trace_printk)
#ifdef CONFIG_DYNAMIC_DEBUG
ALL_LOOPS(pr_debug_off, pr_debug)
ALL_LOOPS(pr_debug_on, pr_debug)
#endif

const struct bench_case bench_printk_cases[] = {
	BENCH_CASE(clock_local, 0),
	ALL_CASES(trace_printk),
#ifdef CONFIG_DYNAMIC_DEBUG
	ALL_CASES(pr_debug_off),
	ALL_CASES(pr_debug_on),
#endif
	{ }
};
