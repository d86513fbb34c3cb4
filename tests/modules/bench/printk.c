// SPDX-License-Identifier: GPL-2.0
/*
 * trace_printk() and pr_debug(), as written by hand, and the clock that ftrace
 * reads for each event. Of the calls of pr_debug(), those in
 * functions with "_on" in their name are switched on by the runner, through
 * dynamic debug.
 */

#define pr_fmt(fmt) "blog_bench: " fmt

#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/trace_clock.h>

#include "bench.h"

#define CALL_trace_printk	trace_printk
#define CALL_pr_debug_off	pr_debug
#define CALL_pr_debug_on	pr_debug
#define LOOP(what, args, ...)						\
	BENCH_LOOP(what, args, CALL_##what(BENCH_FORMAT_##args "\n", ##__VA_ARGS__))

BENCH_LOOP(clock_local, 0, trace_clock_local())
LOOP(trace_printk, 0)
BENCH_EACH(LOOP, trace_printk)
#ifdef CONFIG_DYNAMIC_DEBUG
LOOP(pr_debug_off, 0)
BENCH_EACH(LOOP, pr_debug_off)
LOOP(pr_debug_on, 0)
BENCH_EACH(LOOP, pr_debug_on)
#endif

const struct bench_case bench_printk_cases[] = {
	BENCH_CASE(clock_local, 0)
	BENCH_CASE(trace_printk, 0)
	BENCH_EACH(BENCH_CASE, trace_printk)
#ifdef CONFIG_DYNAMIC_DEBUG
	BENCH_CASE(pr_debug_off, 0)
	BENCH_EACH(BENCH_CASE, pr_debug_off)
	BENCH_CASE(pr_debug_on, 0)
	BENCH_EACH(BENCH_CASE, pr_debug_on)
#endif
	{ }
};
