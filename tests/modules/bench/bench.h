/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the benchmark module.
 *
 * A case is a loop that does one thing n times, with arguments that change and
 * that the compiler can't know. Its cost is the difference to the empty loop with
 * the same arguments; the host subtracts that.
 */
#ifndef BLOG_BENCH_H
#define BLOG_BENCH_H

#include <linux/compiler.h>
#include <linux/types.h>

struct bench_case {
	/* WHAT.ARGUMENTS, NULL at the end of a table */
	const char *name;
	void (*run)(u32 n);
};

/* In blog.rs, or norust.c */
extern const struct bench_case bench_blog_cases[];
void bench_blog_each(u32 *ticks, u32 n);
void bench_blog_once(u32 i);
u64 bench_blog_many(u32 count);

/* In none.rs, or norust.c */
extern const struct bench_case bench_none_cases[];

/* In peers.c */
extern const struct bench_case bench_peer_cases[];

/* In contexts.c */
enum bench_context {
	BENCH_TASK,
	BENCH_SOFTIRQ,
	BENCH_HARDIRQ,
	BENCH_CONTEXTS
};

void bench_contexts_init(void);
void bench_contexts_exit(void);
u64 bench_batch(enum bench_context context, void (*run)(u32 n), u32 n);
int bench_new_tasks(u32 (*ticks)[2], u32 count);
struct taker *bench_make_takers(u32 count);
void bench_end_takers(struct taker *takers, u32 count);
u64 bench_turns(struct taker *takers, void (*run)(u32 n), u32 n);

/* Instructions under QEMU's -icount, else cycles of the host's clock. */
static __always_inline u64 bench_ticks(void)
{
#ifdef CONFIG_ARM64
	u64 ticks;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r" (ticks) : : "memory");
	return ticks;
#else
	u32 low, high;

	asm volatile("lfence; rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (u64)high << 32 | low;
#endif
}

/* Arguments by the number of the round */
static __always_inline u32 bench_u32(u32 i)
{
	asm volatile("" : "+r" (i));
	return i;
}

static __always_inline u64 bench_u64(u32 i)
{
	u64 value = (u64)i << 9;

	asm volatile("" : "+r" (value));
	return value;
}

static __always_inline const char *bench_text(const char *text)
{
	asm volatile("" : "+r" (text));
	return text;
}

#define BENCH_TEXT_11	"hello, disk"
#define BENCH_TEXT_64 \
	"/dev/disk/by-id/nvme-an-imaginary-disk-with-a-long-name-part0001"

/* The lists of arguments: declared, and used by what wants them. */
#define BENCH_ARGS_0(i)
#define BENCH_ARGS_2(i)		u32 a = bench_u32(i); u64 b = bench_u64(i)
#define BENCH_ARGS_4(i)		BENCH_ARGS_2(i); u32 c = bench_u32(i); u64 d = bench_u64(i)
#define BENCH_ARGS_8(i)							\
	BENCH_ARGS_4(i);						\
	u32 e = bench_u32(i); u64 f = bench_u64(i);			\
	u32 g = bench_u32(i); u64 h = bench_u64(i)
#define BENCH_ARGS_str11(i)	const char *a = bench_text(BENCH_TEXT_11)
#define BENCH_ARGS_str64(i)	const char *a = bench_text(BENCH_TEXT_64)

#define BENCH_LOOP(what, args, ...)					\
static noinline void bench_##what##_##args(u32 n)			\
{									\
	for (u32 i = 0; i < n; i++) {					\
		BENCH_ARGS_##args(i);					\
		__VA_ARGS__;						\
	}								\
}

#define BENCH_CASE(what, args, ...)	{ #what "." #args, bench_##what##_##args },

/* How C prints them */
#define BENCH_FORMAT_0		"nothing"
#define BENCH_FORMAT_2		"%u %llu"
#define BENCH_FORMAT_4		"%u %llu %u %llu"
#define BENCH_FORMAT_8		"%u %llu %u %llu %u %llu %u %llu"
#define BENCH_FORMAT_str11	"%s"
#define BENCH_FORMAT_str64	"%s"

/* X for each list of arguments but the empty one, with their values */
#define BENCH_EACH(X, what)						\
	X(what, 2, a, b)						\
	X(what, 4, a, b, c, d)						\
	X(what, 8, a, b, c, d, e, f, g, h)				\
	X(what, str11, a)						\
	X(what, str64, a)

#endif
