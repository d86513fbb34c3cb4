// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters, as the kernel crate's can neither be changed by who runs the
 * machine, nor hold a text; and the machine's names, which it doesn't have.
 */

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "glue.h"

char *blog_param_clock = "auto";
module_param_named(clock, blog_param_clock, charp, 0444);
MODULE_PARM_DESC(clock, "Clock of all records: auto, tsc or mono (default auto)");

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

/* As uname -r, -m and -n, NUL padded. */
void blog_uts(char names[3][64])
{
	strscpy_pad(names[0], init_utsname()->release, sizeof(names[0]));
	strscpy_pad(names[1], init_utsname()->machine, sizeof(names[0]));
	strscpy_pad(names[2], init_utsname()->nodename, sizeof(names[0]));
}
