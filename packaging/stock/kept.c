// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a dump keeps: see kept.rs, the only caller. Whole pages, and parts of
 * pages of 128 bytes up to half of one; never of a block of pages that is one to
 * the kernel. vmalloc() has single pages, too. Process context.
 */

#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "glue.h"

#define SMALLEST 7 /* log2 */

/* Pages that have free parts, by the size of these. */
static struct list_head blog_parts[PAGE_SHIFT - SMALLEST] = {
	LIST_HEAD_INIT(blog_parts[0]), LIST_HEAD_INIT(blog_parts[1]), LIST_HEAD_INIT(blog_parts[2]),
	LIST_HEAD_INIT(blog_parts[3]), LIST_HEAD_INIT(blog_parts[4]),
};

static_assert(ARRAY_SIZE(blog_parts) == 5);
static DEFINE_SPINLOCK(blog_parts_lock);

static unsigned int blog_shift(size_t size)
{
	return max_t(unsigned int, order_base_2(size), SMALLEST);
}

/*
 * In page_private(): below, which parts of the page are free; above, how large one
 * is, or all of it.
 */
#define FREE GENMASK(31, 0)
#define SIZE_SHIFT 32

static unsigned long blog_all_free(unsigned int shift)
{
	return GENMASK((PAGE_SIZE >> shift) - 1, 0);
}

static struct page *blog_page_of(const void *memory)
{
	return is_vmalloc_addr(memory) ? vmalloc_to_page(memory) : virt_to_page(memory);
}

/* Memory of zeroes. */
void *blog_kept_alloc(size_t size, bool may_wait)
{
	gfp_t gfp = (may_wait ? GFP_KERNEL : GFP_NOWAIT) | __GFP_NOWARN;
	unsigned int shift = blog_shift(size), part;
	struct page *page, *new = NULL;
	unsigned long flags;
	void *memory;

	if (shift >= PAGE_SHIFT) {
		gfp |= __GFP_ZERO;
		memory = alloc_pages_exact(size, gfp) ?: __vmalloc(size, gfp);
		if (memory)
			set_page_private(blog_page_of(memory), PAGE_ALIGN(size) << SIZE_SHIFT);
		return memory;
	}
	for (;;) {
		struct list_head *list = &blog_parts[shift - SMALLEST];

		spin_lock_irqsave(&blog_parts_lock, flags);
		if (new)
			list_add(&new->lru, list);
		page = list_first_entry_or_null(list, struct page, lru);
		if (page)
			break;
		spin_unlock_irqrestore(&blog_parts_lock, flags);
		new = alloc_page(gfp);
		if (!new)
			return NULL;
		set_page_private(new, BIT(shift + SIZE_SHIFT) | blog_all_free(shift));
	}
	part = __ffs(page_private(page));
	set_page_private(page, page_private(page) & ~BIT(part));
	if (!(page_private(page) & FREE))
		list_del(&page->lru);
	spin_unlock_irqrestore(&blog_parts_lock, flags);
	return memset(page_address(page) + ((size_t)part << shift), 0, size);
}

void blog_kept_free(void *memory, size_t size)
{
	struct page *page = blog_page_of(memory);
	unsigned int shift = blog_shift(size);
	unsigned long flags;
	bool is_last;

	if (shift >= PAGE_SHIFT) {
		set_page_private(page, 0);
		if (is_vmalloc_addr(memory))
			vfree(memory);
		else
			free_pages_exact(memory, size);
		return;
	}
	spin_lock_irqsave(&blog_parts_lock, flags);
	if (!(page_private(page) & FREE))
		list_add(&page->lru, &blog_parts[shift - SMALLEST]);
	set_page_private(page, page_private(page) | BIT(offset_in_page(memory) >> shift));
	is_last = (page_private(page) & FREE) == blog_all_free(shift);
	if (is_last)
		list_del(&page->lru);
	spin_unlock_irqrestore(&blog_parts_lock, flags);
	if (is_last) {
		set_page_private(page, 0);
		__free_page(page);
	}
}

/* For KUnit: how much was given. */
size_t blog_kept_size(const void *memory)
{
	/* Of an empty vector, there is no memory. */
	return ZERO_OR_NULL_PTR(memory) ? 0 : page_private(blog_page_of(memory)) >> SIZE_SHIFT;
}
