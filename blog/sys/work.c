// SPDX-License-Identifier: GPL-2.0
/*
 * The work item of the worker, which exists from the start and needs no memory. It calls a function
 * of a floor above, which starts it.
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
