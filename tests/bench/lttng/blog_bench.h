/* SPDX-License-Identifier: GPL-2.0 */
/* The probes of LTTng for the events lttng_* of the benchmark module. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM blog_bench

#if !defined(LTTNG_TRACE_BLOG_BENCH_H) || defined(TRACE_HEADER_MULTI_READ)
#define LTTNG_TRACE_BLOG_BENCH_H

#include <lttng/tracepoint-event.h>

LTTNG_TRACEPOINT_EVENT(lttng_1,
	TP_PROTO(u32 a),
	TP_ARGS(a),
	TP_FIELDS(ctf_integer(u32, a, a))
)

LTTNG_TRACEPOINT_EVENT(lttng_2,
	TP_PROTO(u32 a, u64 b),
	TP_ARGS(a, b),
	TP_FIELDS(ctf_integer(u32, a, a) ctf_integer(u64, b, b))
)

LTTNG_TRACEPOINT_EVENT(lttng_2x32,
	TP_PROTO(u32 a, u32 b),
	TP_ARGS(a, b),
	TP_FIELDS(ctf_integer(u32, a, a) ctf_integer(u32, b, b))
)

LTTNG_TRACEPOINT_EVENT(lttng_4,
	TP_PROTO(u32 a, u64 b, u32 c, u64 d),
	TP_ARGS(a, b, c, d),
	TP_FIELDS(
		ctf_integer(u32, a, a) ctf_integer(u64, b, b)
		ctf_integer(u32, c, c) ctf_integer(u64, d, d)
	)
)

LTTNG_TRACEPOINT_EVENT(lttng_8,
	TP_PROTO(u32 a, u64 b, u32 c, u64 d, u32 e, u64 f, u32 g, u64 h),
	TP_ARGS(a, b, c, d, e, f, g, h),
	TP_FIELDS(
		ctf_integer(u32, a, a) ctf_integer(u64, b, b)
		ctf_integer(u32, c, c) ctf_integer(u64, d, d)
		ctf_integer(u32, e, e) ctf_integer(u64, f, f)
		ctf_integer(u32, g, g) ctf_integer(u64, h, h)
	)
)

LTTNG_TRACEPOINT_EVENT(lttng_rnull,
	TP_PROTO(u8 a, u64 b, u32 c, u32 d),
	TP_ARGS(a, b, c, d),
	TP_FIELDS(
		ctf_integer(u8, a, a) ctf_integer(u64, b, b)
		ctf_integer(u32, c, c) ctf_integer(u32, d, d)
	)
)

LTTNG_TRACEPOINT_EVENT(lttng_str,
	TP_PROTO(const char *a),
	TP_ARGS(a),
	TP_FIELDS(ctf_string(a, a))
)

LTTNG_TRACEPOINT_EVENT_CLASS(lttng_spare,
	TP_PROTO(u32 a),
	TP_ARGS(a),
	TP_FIELDS(ctf_integer(u32, a, a))
)

#define BENCH_SPARE(n)	\
	LTTNG_TRACEPOINT_EVENT_INSTANCE(lttng_spare, lttng_spare_##n, TP_PROTO(u32 a), TP_ARGS(a))
BENCH_SPARE(00)
BENCH_SPARE(01)
BENCH_SPARE(02)
BENCH_SPARE(03)
BENCH_SPARE(04)
BENCH_SPARE(05)
BENCH_SPARE(06)
BENCH_SPARE(07)
BENCH_SPARE(08)
BENCH_SPARE(09)
BENCH_SPARE(10)
BENCH_SPARE(11)
BENCH_SPARE(12)
BENCH_SPARE(13)
BENCH_SPARE(14)
BENCH_SPARE(15)
BENCH_SPARE(16)
BENCH_SPARE(17)
BENCH_SPARE(18)
BENCH_SPARE(19)
BENCH_SPARE(20)
BENCH_SPARE(21)
BENCH_SPARE(22)
BENCH_SPARE(23)
BENCH_SPARE(24)

#endif

#include <lttng/define_trace.h>
