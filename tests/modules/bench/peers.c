// SPDX-License-Identifier: GPL-2.0
/*
 * Cases in C: empty loops, which show the cost of the others' loops alone, log calls,
 * tracepoints, trace_printk() and pr_debug() as written by hand, and the clock that ftrace
 * reads for each event. Of the calls of pr_debug(), those in functions with "_on" in
 * their name are switched on by the runner, through dynamic debug.
 */

#define pr_fmt(fmt) "blog_bench: " fmt

#include <linux/blog.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/trace_clock.h>

#include "bench.h"

BLOG_COMPONENT(bench_c, .size_kb = 2048, .ring_kb = 256);
BLOG_COMPONENT(bench_c_off, .size_kb = 1024, .enabled = false);

#define USE(x)				({ asm volatile("" : : "r" (x)); })
#define USE1(a)				USE(a)
#define USE2(a, b)			(USE(a), USE(b))
#define USE4(a, b, c, d)		(USE2(a, b), USE2(c, d))
#define USE8(a, b, c, d, e, f, g, h)	(USE4(a, b, c, d), USE4(e, f, g, h))
#define LOOP(what, args, ...)						\
	BENCH_LOOP(what, args, CONCATENATE(USE, COUNT_ARGS(__VA_ARGS__))(__VA_ARGS__))
#define ON(what, args, ...)						\
	BENCH_LOOP(what, args, blog_log(bench_c, BENCH_FORMAT_##args, ##__VA_ARGS__))
#define OFF(what, args, ...)						\
	BENCH_LOOP(what, args, blog_log(bench_c_off, BENCH_FORMAT_##args, ##__VA_ARGS__))

BENCH_LOOP(loop, 0, barrier())
BENCH_EACH(LOOP, loop)
ON(blog_c_on, 0)
BENCH_EACH(ON, blog_c_on)
OFF(blog_c_off, 0)
BENCH_EACH(OFF, blog_c_off)

#ifdef CONFIG_TRACING
#define CALL_trace_printk	trace_printk
#define CALL_pr_debug_off	pr_debug
#define CALL_pr_debug_on	pr_debug
#define PRINT(what, args, ...)						\
	BENCH_LOOP(what, args, CALL_##what(BENCH_FORMAT_##args "\n", ##__VA_ARGS__))

BENCH_LOOP(clock_local, 0, trace_clock_local())
PRINT(trace_printk, 0)
BENCH_EACH(PRINT, trace_printk)
#ifdef CONFIG_DYNAMIC_DEBUG
PRINT(pr_debug_off, 0)
BENCH_EACH(PRINT, pr_debug_off)
PRINT(pr_debug_on, 0)
BENCH_EACH(PRINT, pr_debug_on)
#endif
#endif

#ifdef CONFIG_EVENT_TRACING
#define CREATE_TRACE_POINTS
#include "bench_events.h"

#define EVENT(what, args, ...)	BENCH_LOOP(what, args, trace_##what##_##args(__VA_ARGS__))

BENCH_EACH(EVENT, event_off)
BENCH_EACH(EVENT, event_on)
#endif

const struct bench_case bench_peer_cases[] = {
	BENCH_CASE(loop, 0)
	BENCH_EACH(BENCH_CASE, loop)
	BENCH_CASE(blog_c_on, 0)
	BENCH_EACH(BENCH_CASE, blog_c_on)
	BENCH_CASE(blog_c_off, 0)
	BENCH_EACH(BENCH_CASE, blog_c_off)
#ifdef CONFIG_TRACING
	BENCH_CASE(clock_local, 0)
	BENCH_CASE(trace_printk, 0)
	BENCH_EACH(BENCH_CASE, trace_printk)
#ifdef CONFIG_DYNAMIC_DEBUG
	BENCH_CASE(pr_debug_off, 0)
	BENCH_EACH(BENCH_CASE, pr_debug_off)
	BENCH_CASE(pr_debug_on, 0)
	BENCH_EACH(BENCH_CASE, pr_debug_on)
#endif
#endif
#ifdef CONFIG_EVENT_TRACING
	BENCH_EACH(BENCH_CASE, event_off)
	BENCH_EACH(BENCH_CASE, event_on)
#endif
	{ }
};
