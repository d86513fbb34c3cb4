// SPDX-License-Identifier: GPL-2.0
/*
 * What others see of the Rust side: symbols for drivers, the worker, and the initcall if it is
 * built in.
 */

#include <linux/export.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "life.h"
#include "main.h"
#include "sys/glue.h"
#include "write/slow.h"

/* The body is in life.rs or write/slow.rs. */
#define EXPORT_RUST_SYMBOL_GPL(sym) EXPORT_SYMBOL_GPL(sym)

EXPORT_RUST_SYMBOL_GPL(blog_component_register);
EXPORT_RUST_SYMBOL_GPL(blog_component_unregister);
EXPORT_RUST_SYMBOL_GPL(blog_reserve);
#ifdef CONFIG_BLOG_PARTS
EXPORT_RUST_SYMBOL_GPL(blog_stored);
#endif

/* Its timer wakes no idle CPU: while the one sleeps that has queued it, it waits. */
static void blog_work_fn(struct work_struct *work);
static DECLARE_DEFERRABLE_WORK(blog_work, blog_work_fn);

static void blog_work_fn(struct work_struct *work)
{
	blog_each_second();
	queue_delayed_work(system_dfl_wq, &blog_work, HZ);
}

/*
 * From here on, the worker runs, and BLog can't be removed. Nobody can tell when the last log call
 * has left its code; and what it has recorded should outlive a slip of the hand.
 */
void blog_stay(void)
{
	queue_delayed_work(system_dfl_wq, &blog_work, HZ);
	__module_get(THIS_MODULE);
}

#ifndef MODULE
/* Before the initcalls of all drivers, which are linked after blog/. */
early_initcall(blog_start);
#endif
