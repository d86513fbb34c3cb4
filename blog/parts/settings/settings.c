// SPDX-License-Identifier: GPL-2.0
/* The parameter "component": see mod.rs. */

#include <linux/cleanup.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sprintf.h>
#include <linux/string.h>

#include "../../sys/params.h"
#include "settings.h"

/*
 * Settings of components that may be still to come. What is given before BLog starts, it takes up
 * then: the kernel parses its command line before it can allocate.
 */
static char blog_early[1024];
/* Whether it has. */
static bool blog_settings_run;
/* Held while settings are made. */
static DEFINE_MUTEX(blog_settings_lock);

static int blog_set_settings(const char *val)
{
	size_t end;

	guard(mutex)(&blog_settings_lock);
	if (blog_settings_run)
		return blog_set_components(val);
	end = strlen(blog_early);
	if (snprintf(blog_early + end, sizeof(blog_early) - end, "%s\n", val) <
	    sizeof(blog_early) - end)
		return 0;
	blog_early[end] = '\0';
	return -ENOSPC;
}

static int blog_parse_settings(const char *val, const struct kernel_param *kp)
{
	return val ? blog_without_lock(blog_set_settings(val)) : -EINVAL;
}

static int blog_show_settings(char *buffer, const struct kernel_param *kp)
{
	/* Pairs with blog_take_early(): then there is a list of them. */
	if (!smp_load_acquire(&blog_settings_run))
		return scnprintf(buffer, PAGE_SIZE, "%s", blog_early);
	return blog_without_lock(blog_show_components(buffer, PAGE_SIZE));
}

BLOG_PARAM_OPS(component, blog_parse_settings, blog_show_settings);
module_param_cb(component, &blog_component_ops, NULL, 0644);
MODULE_PARM_DESC(component, "Settings of components: NAME:KEY=VALUE,..., KEY one of enable, level, mode, private, size_kb, ring_kb and warn_share; NAME may end in *");

/*
 * What was given so far. From now on, blog_set_components() gets it, and blog_show_components() has
 * it.
 */
const char *blog_take_early(void)
{
	guard(mutex)(&blog_settings_lock);
	/* Pairs with blog_show_settings(). */
	smp_store_release(&blog_settings_run, true);
	return blog_early;
}
