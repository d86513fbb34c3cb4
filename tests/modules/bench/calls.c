// SPDX-License-Identifier: GPL-2.0
/* Log calls of drivers in C. */

#include <linux/blog.h>

#include "bench.h"

BLOG_COMPONENT(bench_c, .size_kb = 2048, .ring_kb = 256);
BLOG_COMPONENT(bench_c_off, .size_kb = 1024, .enabled = false);

#define ON(what, args, ...)						\
	BENCH_LOOP(what, args, blog_log(bench_c, BENCH_FORMAT_##args, ##__VA_ARGS__))
#define OFF(what, args, ...)						\
	BENCH_LOOP(what, args, blog_log(bench_c_off, BENCH_FORMAT_##args, ##__VA_ARGS__))

ON(blog_c_on, 0)
BENCH_EACH(ON, blog_c_on)
OFF(blog_c_off, 0)
BENCH_EACH(OFF, blog_c_off)

const struct bench_case bench_call_cases[] = {
	BENCH_CASE(blog_c_on, 0)
	BENCH_EACH(BENCH_CASE, blog_c_on)
	BENCH_CASE(blog_c_off, 0)
	BENCH_EACH(BENCH_CASE, blog_c_off)
	{ }
};
