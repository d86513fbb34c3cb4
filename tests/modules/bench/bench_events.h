/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The same records as events, each twice: one that is never on, and one that
 * ftrace records.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM blog_bench
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE bench_events

#if !defined(BLOG_BENCH_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define BLOG_BENCH_EVENTS_H

#include <linux/tracepoint.h>

#define BENCH_EVENTS(args, proto, values)				\
DEFINE_EVENT(bench_##args, event_off_##args, PARAMS(proto), PARAMS(values));	\
DEFINE_EVENT(bench_##args, event_on_##args, PARAMS(proto), PARAMS(values))

#ifdef BENCH_ASSIGN_SOURCE
#define BENCH_ASSIGN(a) __assign_str(a, a)
#else
#define BENCH_ASSIGN(a) __assign_str(a)
#endif

/* None without arguments: an event has at least one field. */
DECLARE_EVENT_CLASS(bench_2,
	TP_PROTO(u32 a, u64 b),
	TP_ARGS(a, b),
	TP_STRUCT__entry(__field(u32, a) __field(u64, b)),
	TP_fast_assign(__entry->a = a; __entry->b = b;),
	TP_printk("%u %llu", __entry->a, __entry->b)
);
BENCH_EVENTS(2, TP_PROTO(u32 a, u64 b), TP_ARGS(a, b));

DECLARE_EVENT_CLASS(bench_4,
	TP_PROTO(u32 a, u64 b, u32 c, u64 d),
	TP_ARGS(a, b, c, d),
	TP_STRUCT__entry(__field(u32, a) __field(u64, b) __field(u32, c) __field(u64, d)),
	TP_fast_assign(__entry->a = a; __entry->b = b; __entry->c = c; __entry->d = d;),
	TP_printk("%u %llu %u %llu", __entry->a, __entry->b, __entry->c, __entry->d)
);
BENCH_EVENTS(4, TP_PROTO(u32 a, u64 b, u32 c, u64 d), TP_ARGS(a, b, c, d));

DECLARE_EVENT_CLASS(bench_8,
	TP_PROTO(u32 a, u64 b, u32 c, u64 d, u32 e, u64 f, u32 g, u64 h),
	TP_ARGS(a, b, c, d, e, f, g, h),
	TP_STRUCT__entry(__field(u32, a) __field(u64, b) __field(u32, c) __field(u64, d)
			 __field(u32, e) __field(u64, f) __field(u32, g) __field(u64, h)),
	TP_fast_assign(__entry->a = a; __entry->b = b; __entry->c = c; __entry->d = d;
		       __entry->e = e; __entry->f = f; __entry->g = g; __entry->h = h;),
	TP_printk("%u %llu %u %llu %u %llu %u %llu", __entry->a, __entry->b, __entry->c,
		  __entry->d, __entry->e, __entry->f, __entry->g, __entry->h)
);
BENCH_EVENTS(8, TP_PROTO(u32 a, u64 b, u32 c, u64 d, u32 e, u64 f, u32 g, u64 h),
	     TP_ARGS(a, b, c, d, e, f, g, h));

DECLARE_EVENT_CLASS(bench_str,
	TP_PROTO(const char *a),
	TP_ARGS(a),
	TP_STRUCT__entry(__string(a, a)),
	TP_fast_assign(BENCH_ASSIGN(a);),
	TP_printk("%s", __get_str(a))
);
DEFINE_EVENT(bench_str, event_off_str11, TP_PROTO(const char *a), TP_ARGS(a));
DEFINE_EVENT(bench_str, event_on_str11, TP_PROTO(const char *a), TP_ARGS(a));
DEFINE_EVENT(bench_str, event_off_str64, TP_PROTO(const char *a), TP_ARGS(a));
DEFINE_EVENT(bench_str, event_on_str64, TP_PROTO(const char *a), TP_ARGS(a));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#include <trace/define_trace.h>
