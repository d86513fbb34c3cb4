// SPDX-License-Identifier: GPL-2.0
/*
 * Log calls while the kernel boots: see api_early.rs. Only if the suites are built
 * in.
 */

#include <linux/init.h>
#include <linux/printk.h>

/* In Rust. */
void blog_kunit_early(u32 stage);

/*
 * For "blog_kunit_early" on the command line. On x86 that is in setup_arch():
 * before per-CPU areas, the allocator, jump labels and interrupts.
 */
static int __init blog_kunit_early_param(char *unused)
{
	blog_kunit_early(0);
	pr_info("blog_kunit: logged in an early parameter\n");
	return 0;
}
early_param("blog_kunit_early", blog_kunit_early_param);

/* What each of these logs is counted by core_registry.rs. */
static int __init blog_kunit_early_initcall(void)
{
	blog_kunit_early(1);
	return 0;
}
early_initcall(blog_kunit_early_initcall);
core_initcall(blog_kunit_early_initcall);
subsys_initcall(blog_kunit_early_initcall);
fs_initcall(blog_kunit_early_initcall);
