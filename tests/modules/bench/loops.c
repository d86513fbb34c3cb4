// SPDX-License-Identifier: GPL-2.0
/* Empty loops: the cost of the other C files' loops alone. */

#include "bench.h"

#define USE(x)	asm volatile("" : : "r" (x))

BENCH_LOOP(loop, 0, barrier())
BENCH_LOOP(loop, 1, USE(a))
BENCH_LOOP(loop, 2, USE(a); USE(b))
BENCH_LOOP(loop, 2x32, USE(a); USE(b))
BENCH_LOOP(loop, 4, USE(a); USE(b); USE(c); USE(d))
BENCH_LOOP(loop, 8, USE(a); USE(b); USE(c); USE(d); USE(e); USE(f); USE(g); USE(h))
BENCH_LOOP(loop, rnull, USE(a); USE(b); USE(c); USE(d))
BENCH_LOOP(loop, str11, USE(a))
BENCH_LOOP(loop, str64, USE(a))

const struct bench_case bench_loop_cases[] = {
	BENCH_CASE(loop, 0)
	BENCH_EACH(BENCH_CASE, loop)
	{ }
};
