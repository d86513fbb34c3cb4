// SPDX-License-Identifier: GPL-2.0
/*
 * Work items that are there from the start, without memory for them: the worker,
 * which any context may have come, and what frees memory behind it.
 */

#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/workqueue.h>

#include "glue.h"

/*
 * The worker: see write/worker.rs. It says itself when it is to come again. If that is
 * never, a log call has it come: by interrupting its own CPU, in any context.
 */

static void blog_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(blog_delayed_work, blog_work_fn);

static void blog_work_fn(struct work_struct *work)
{
	u32 ms = blog_work();

	if (ms)
		queue_delayed_work(system_dfl_wq, &blog_delayed_work, msecs_to_jiffies(ms));
}

static void blog_irq_work_fn(struct irq_work *work)
{
	queue_delayed_work(system_dfl_wq, &blog_delayed_work, 0);
}

static DEFINE_IRQ_WORK(blog_irq_work, blog_irq_work_fn);

notrace void blog_queue_worker(void)
{
	irq_work_queue(&blog_irq_work);
}

void blog_stop_worker(void)
{
	/* Who is writing max_kb may be about to have it come. Who comes later finds it off. */
	kernel_param_lock(THIS_MODULE);
	kernel_param_unlock(THIS_MODULE);
	irq_work_sync(&blog_irq_work);
	cancel_delayed_work_sync(&blog_delayed_work);
}

/* Frees what rings have given up, after a grace period: see memory/page.rs. */

static void blog_reap_fn(struct work_struct *work)
{
	blog_reap();
}

static DECLARE_WORK(blog_reap_work, blog_reap_fn);

void blog_queue_reap(void)
{
	queue_work(system_dfl_wq, &blog_reap_work);
}

void blog_flush_reap(void)
{
	flush_work(&blog_reap_work);
}
