// SPDX-License-Identifier: GPL-2.0
/* A module of LTTng's probes, as lttng-modules has one for each subsystem. */

#include <linux/module.h>
#include <lttng/tracer.h>

/* The kernel's own prototypes, for the compiler to compare. */
#include <bench_events.h>
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE

#include <wrapper/tracepoint.h>

#define LTTNG_PACKAGE_BUILD
#define CREATE_TRACE_POINTS
#define TRACE_INCLUDE_PATH instrumentation/events

#include <instrumentation/events/blog_bench.h>

MODULE_AUTHOR("BLog developers");
MODULE_DESCRIPTION("LTTng probes of the BLog benchmark");
MODULE_LICENSE("GPL and additional rights");
