// SPDX-License-Identifier: GPL-2.0
/* In place of blog.rs and none.rs, for a kernel that drivers in Rust can't be built for. */

#include <linux/blog.h>

#include "bench.h"

BLOG_COMPONENT(bench_c_each, .size_kb = 2048, .ring_kb = 256);
BLOG_COMPONENT(bench_c_new, .size_kb = 2048);

const struct bench_case bench_blog_cases[] = { {} };
const struct bench_case bench_none_cases[] = { {} };

void bench_blog_each(u32 *ticks, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		BENCH_ARGS_2(i);
		u64 start = bench_ticks();

		blog_log(bench_c_each, BENCH_FORMAT_2, a, b);
		ticks[i] = bench_ticks() - start;
	}
}

u64 bench_blog_many(u32 count)
{
	return 0;
}

void bench_blog_once(u32 i)
{
	BENCH_ARGS_2(i);

	blog_log(bench_c_new, BENCH_FORMAT_2, a, b);
}
