/* SPDX-License-Identifier: GPL-2.0 */
/* The two events of rnull, with the fields that BLog's records have. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rnull
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE peer_events

#if !defined(RNULL_PEER_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define RNULL_PEER_EVENTS_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(rnull,
	TP_PROTO(u8 op, u64 sector, u32 bytes, u32 tag),
	TP_ARGS(op, sector, bytes, tag),
	TP_STRUCT__entry(
		__field(u64, sector)
		__field(u32, bytes)
		__field(u32, tag)
		__field(u8, op)
	),
	TP_fast_assign(
		__entry->op = op;
		__entry->sector = sector;
		__entry->bytes = bytes;
		__entry->tag = tag;
	),
	TP_printk("%u sector=%llu bytes=%u tag=%u", __entry->op, __entry->sector,
		  __entry->bytes, __entry->tag)
);

DEFINE_EVENT(rnull, rnull_queue,
	TP_PROTO(u8 op, u64 sector, u32 bytes, u32 tag),
	TP_ARGS(op, sector, bytes, tag)
);

DEFINE_EVENT(rnull, rnull_complete,
	TP_PROTO(u8 op, u64 sector, u32 bytes, u32 tag),
	TP_ARGS(op, sector, bytes, tag)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#include <trace/define_trace.h>
