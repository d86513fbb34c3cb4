// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of the kernel's memory. The page allocator sees single pages, even in large
 * areas: vmalloc() splits larger blocks (why: pages.rs).
 *
 * An allocation reclaims what it can, but has no task killed, and prints nothing.
 * Process context, and not where reclaim waits for the caller.
 */

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include "glue.h"

#define BLOG_GFP (GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

void *blog_pages_alloc(u32 count)
{
	if (fatal_signal_pending(current))
		return NULL;
	if (count == 1)
		return (void *)__get_free_page(BLOG_GFP);
	return __vmalloc((unsigned long)count << PAGE_SHIFT, BLOG_GFP);
}

void blog_pages_free(void *pages)
{
	if (is_vmalloc_addr(pages))
		vfree(pages);
	else
		free_page((unsigned long)pages);
}
