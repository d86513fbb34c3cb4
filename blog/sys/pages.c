// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of the kernel's memory. Also where there are many, each is one to the page
 * allocator: there may be no larger block left, and makedumpfile takes other pages
 * than the first one of such a block for a process's.
 *
 * Allocating reclaims what it can, but has no task killed, and says nothing. Process
 * context, and not where reclaim waits for the caller.
 */

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "glue.h"

#define BLOG_GFP (GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* Pages of zeroes, which are next to each other by their addresses. */
void *blog_pages_alloc(u32 count)
{
	struct page **pages;
	void *memory;
	u32 n;

	if (fatal_signal_pending(current))
		return NULL;
	if (count == 1)
		return (void *)__get_free_page(BLOG_GFP);
	pages = kvmalloc_array(count, sizeof(*pages), BLOG_GFP);
	if (!pages)
		return NULL;
	for (n = 0; n < count; n++) {
		pages[n] = alloc_page(BLOG_GFP);
		if (!pages[n])
			goto free;
	}
	/* The array goes with the pages. */
	memory = vmap(pages, count, VM_MAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (memory)
		return memory;
free:
	while (n--)
		__free_page(pages[n]);
	kvfree(pages);
	return NULL;
}

void blog_pages_free(void *pages)
{
	if (is_vmalloc_addr(pages))
		vfree(pages);
	else
		free_page((unsigned long)pages);
}
