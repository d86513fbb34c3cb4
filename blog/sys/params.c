// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters: those of the kernel crate can neither be changed at run time
 * nor hold a text. And the machine's names.
 */

#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/crash_dump.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "glue.h"
#include "params.h"

/* Whether BLog has started. */
static bool blog_runs;
/* Held while the limit is set. */
static DEFINE_MUTEX(blog_params_lock);
/* What makes a new limit true; none before BLog starts, when nothing is used. */
static int (*blog_max_kb_changed)(void);

/* From now on, what isn't understood is refused. Once */
void blog_params_start(int (*max_kb_changed)(void))
{
	guard(mutex)(&blog_params_lock);
	blog_max_kb_changed = max_kb_changed;
	WRITE_ONCE(blog_runs, true);
}

int blog_param_result(const char *val, const struct kernel_param *kp, int ret)
{
	if (!ret || READ_ONCE(blog_runs))
		return ret;
	pr_warn("blog: %s=%s: %pe, left out\n", kp->name, val ?: "", ERR_PTR(ret));
	return 0;
}

int blog_parse_text(const char *val, const struct kernel_param *kp)
{
	return val ? param_set_charp(val, kp) : -EINVAL;
}

BLOG_PARAM_OPS(switch, param_set_bool, param_get_bool);

static bool blog_in_kdump;
module_param_cb(kdump, &blog_switch_ops, &blog_in_kdump, 0444);
MODULE_PARM_DESC(kdump, "Also record in a kdump kernel, as these parameters say (default 0)");

/*
 * A kdump kernel has little memory, and is given the command line of the kernel that has crashed:
 * what that says of components and of persistence isn't meant for it.
 */
bool blog_is_quiet(void)
{
	return is_kdump_kernel() && !blog_in_kdump;
}

static unsigned int blog_max_kb;

int blog_set_max_kb(u32 kb)
{
	unsigned int old;
	int ret;

	guard(mutex)(&blog_params_lock);
	old = blog_max_kb;
	WRITE_ONCE(blog_max_kb, kb);
	ret = blog_max_kb_changed ? blog_max_kb_changed() : 0;
	if (ret)
		WRITE_ONCE(blog_max_kb, old);
	return ret;
}

static int blog_parse_max_kb(const char *val, const struct kernel_param *kp)
{
	unsigned int kb;
	int ret;

	ret = val ? kstrtouint(val, 0, &kb) : -EINVAL;
	return ret ?: blog_without_lock(blog_set_max_kb(kb));
}

BLOG_PARAM_OPS(max_kb, blog_parse_max_kb, param_get_uint);
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
