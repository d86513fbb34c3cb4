// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters: those of the kernel crate can neither be changed at run time
 * nor hold a text. And the machine's names, which that crate lacks.
 */

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sizes.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "glue.h"

char *blog_param_clock = "auto";
module_param_named(clock, blog_param_clock, charp, 0444);
MODULE_PARM_DESC(clock, "Clock of all records: auto, counter or mono (default auto)");

bool blog_param_counts;
module_param_named(counts, blog_param_counts, bool, 0444);
MODULE_PARM_DESC(counts, "Count the records of each call site (default 0)");

char *blog_param_persist = "";
module_param_named(persist, blog_param_persist, charp, 0444);
MODULE_PARM_DESC(persist, "Name of memory of reserve_mem that records are in, for the next boot (default none)");

static unsigned int blog_max_kb;

int blog_set_max_kb(u32 kb)
{
	unsigned int old = blog_max_kb;
	int ret;

	WRITE_ONCE(blog_max_kb, kb);
	ret = blog_max_kb_changed();
	if (ret)
		WRITE_ONCE(blog_max_kb, old);
	return ret;
}

static int blog_write_max_kb(const char *val, const struct kernel_param *kp)
{
	unsigned int kb;
	int ret;

	ret = kstrtouint(val, 0, &kb);
	return ret ?: blog_set_max_kb(kb);
}

static const struct kernel_param_ops blog_max_kb_ops = {
	.set = blog_write_max_kb,
	.get = param_get_uint,
};

module_param_cb(max_kb, &blog_max_kb_ops, &blog_max_kb, 0644);
MODULE_PARM_DESC(max_kb, "Limit for all that BLog takes in KiB (default 0: an eighth of memory, 1 GiB at most)");

/* In KiB. Where none is set: an eighth of memory, 1 GiB at most. */
u32 blog_param_max_kb(void)
{
	u64 eighth = ((u64)totalram_pages() << (PAGE_SHIFT - 10)) / 8;

	return READ_ONCE(blog_max_kb) ?: min_t(u64, eighth, SZ_1M);
}

/*
 * Settings of components that may be still to come. What is given before BLog
 * starts, it takes up then: the kernel parses its command line before it can
 * allocate.
 */
static char blog_early[1024];
static bool blog_runs;

static int blog_write_component(const char *val, const struct kernel_param *kp)
{
	size_t end = strlen(blog_early);

	if (blog_runs)
		return blog_wish(val);
	if (snprintf(blog_early + end, sizeof(blog_early) - end, "%s\n", val) <
	    sizeof(blog_early) - end)
		return 0;
	blog_early[end] = '\0';
	return -ENOSPC;
}

static int blog_read_component(char *buffer, const struct kernel_param *kp)
{
	return blog_wishes(buffer, PAGE_SIZE);
}

static const struct kernel_param_ops blog_component_ops = {
	.set = blog_write_component,
	.get = blog_read_component,
};

module_param_cb(component, &blog_component_ops, NULL, 0644);
MODULE_PARM_DESC(component, "Settings of components: NAME:KEY=VALUE,..., KEY one of enable, level, mode, private, size_kb, ring_kb and warn_share; NAME may end in *");

/* What was given so far. From now on, blog_wish() gets it. */
const char *blog_take_early(void)
{
	blog_runs = true;
	return blog_early;
}

/* As uname -r, -m and -n, NUL padded. */
void blog_uts(char names[3][64])
{
	strscpy_pad(names[0], init_utsname()->release, sizeof(names[0]));
	strscpy_pad(names[1], init_utsname()->machine, sizeof(names[0]));
	strscpy_pad(names[2], init_utsname()->nodename, sizeof(names[0]));
}
