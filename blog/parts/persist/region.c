// SPDX-License-Identifier: GPL-2.0
/* Memory that the next boot finds again, and its parameter. */

#include <linux/io.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>

#include "../../sys/params.h"
#include "region.h"

/* A load that fails gives the text back. */
BLOG_PARAM_OPS(text, blog_parse_text, param_get_charp, .free = param_free_charp);

char *blog_param_persist = "";
module_param_cb(persist, &blog_text_ops, &blog_param_persist, 0444);
MODULE_PARM_DESC(persist, "Name of memory of reserve_mem that records are in, for the next boot (default none)");

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
