// SPDX-License-Identifier: GPL-2.0
/* Each request of rnull twice, by TRACE_EVENT. */

#include <linux/types.h>

#include "peer.h"

#define CREATE_TRACE_POINTS
#include "peer_events.h"

void rnull_peer_queue(u8 op, u64 sector, u32 bytes, u32 tag)
{
	trace_rnull_queue(op, sector, bytes, tag);
}

void rnull_peer_complete(u8 op, u64 sector, u32 bytes, u32 tag)
{
	trace_rnull_complete(op, sector, bytes, tag);
}
