// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of the kernel's memory. The page allocator sees single pages, even in large
 * areas: vmalloc() splits larger blocks (why: pages.rs).
 *
 * An allocation reclaims what it can, but has no task killed, and prints nothing.
 * Process context, and not where reclaim waits for the caller.
 */

#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>
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

/* A single page, for a process that maps it; it counts as a user of that. */
struct page *blog_page_get(void *at)
{
	struct page *page = virt_to_page(at);

	get_page(page);
	return page;
}

void blog_page_put(struct page *page)
{
	put_page(page);
}

/* Memory that "reserve_mem" on the command line sets aside, in whole pages. */
void *blog_reserved(const char *name, size_t *size)
{
	phys_addr_t start, bytes;

	if (!reserve_mem_find_by_name(name, &start, &bytes) || !PAGE_ALIGNED(start))
		return NULL;
	*size = bytes & PAGE_MASK;
	return phys_to_virt(start);
}

static void *blog_kept;
static size_t blog_kept_size;

/*
 * Caches may lose what they hold when the machine starts again, so it goes to memory
 * before. Where no caches do that, or a watchdog is faster, there is nothing to do.
 */
static int blog_flush(struct notifier_block *nb, unsigned long event, void *data)
{
	arch_wb_cache_pmem(blog_kept, blog_kept_size);
	return NOTIFY_DONE;
}

/* After all others: they may log. */
static struct notifier_block blog_flush_panic_nb = {
	.notifier_call = blog_flush,
	.priority = INT_MIN,
};

static struct notifier_block blog_flush_reboot_nb = {
	.notifier_call = blog_flush,
	.priority = INT_MIN,
};

/* From here on, this memory reaches the next boot whole. */
void blog_keep(void *memory, size_t size)
{
	blog_kept = memory;
	blog_kept_size = size;
	atomic_notifier_chain_register(&panic_notifier_list, &blog_flush_panic_nb);
	register_reboot_notifier(&blog_flush_reboot_nb);
}
