// SPDX-License-Identifier: GPL-2.0
/*
 * Work items that exist from the start and need no memory: the worker, and the one that removes
 * components that are gone. Both call functions of floors above, which start them.
 */

#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "glue.h"

/* Its timer wakes no idle CPU: while the one sleeps that has queued it, it waits. */
static void blog_work_fn(struct work_struct *work);
static DECLARE_DEFERRABLE_WORK(blog_delayed_work, blog_work_fn);

static void (*blog_each_second)(void);

static void blog_queue_work(void)
{
	queue_delayed_work(system_dfl_wq, &blog_delayed_work, HZ);
}

static void blog_work_fn(struct work_struct *work)
{
	blog_each_second();
	blog_queue_work();
}

/* Once */
void blog_start_worker(void (*each_second)(void))
{
	blog_each_second = each_second;
	blog_queue_work();
}

static void (*blog_reap)(void);

static void blog_reap_fn(struct work_struct *work)
{
	blog_reap();
}

/* Once, before anything is queued */
void blog_start_reaping(void (*reap)(void))
{
	blog_reap = reap;
}

static DECLARE_WORK(blog_reap_work, blog_reap_fn);

void blog_queue_reap(void)
{
	queue_work(system_dfl_wq, &blog_reap_work);
}

/* For KUnit suites. */
void blog_flush_reap(void)
{
	flush_work(&blog_reap_work);
}
