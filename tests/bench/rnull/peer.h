/* SPDX-License-Identifier: GPL-2.0 */
/* What the changed rnull calls for each request. */
#ifndef RNULL_PEER_H
#define RNULL_PEER_H

#include <linux/types.h>

void rnull_peer_queue(u8 op, u64 sector, u32 bytes, u32 tag);
void rnull_peer_complete(u8 op, u64 sector, u32 bytes, u32 tag);

#endif
