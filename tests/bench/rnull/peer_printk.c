// SPDX-License-Identifier: GPL-2.0
/* Each request of rnull twice, by trace_printk(). */

#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "peer.h"

void rnull_peer_queue(u8 op, u64 sector, u32 bytes, u32 tag)
{
	trace_printk("queue %u sector=%llu bytes=%u tag=%u\n", op, sector, bytes, tag);
}

void rnull_peer_complete(u8 op, u64 sector, u32 bytes, u32 tag)
{
	trace_printk("complete %u sector=%llu bytes=%u tag=%u\n", op, sector, bytes, tag);
}
