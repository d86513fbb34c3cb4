// SPDX-License-Identifier: GPL-2.0
/*
 * Readers that wait for records. A log call wakes nobody, so whoever waits looks
 * again after a while: read() sleeps, and for poll() a delayed work of the open
 * file wakes those in its wait queue. Only poll() and a read() that has found
 * nothing queue it: when nobody waits any more, it runs at most once.
 */

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "glue.h"

struct blog_waiter {
	wait_queue_head_t queue;
	struct delayed_work wake;
};

static void blog_waiter_wake(struct work_struct *work)
{
	struct blog_waiter *waiter = container_of(to_delayed_work(work), struct blog_waiter, wake);

	wake_up_interruptible_poll(&waiter->queue, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

struct blog_waiter *blog_waiter_new(void)
{
	struct blog_waiter *waiter = kmalloc_obj(*waiter);

	if (!waiter)
		return NULL;
	init_waitqueue_head(&waiter->queue);
	INIT_DELAYED_WORK(&waiter->wake, blog_waiter_wake);
	return waiter;
}

/* The file is closed: nobody is in the wait queue. */
void blog_waiter_free(struct blog_waiter *waiter)
{
	cancel_delayed_work_sync(&waiter->wake);
	kfree(waiter);
}

/* Returns whether anybody is going to wait. */
bool blog_waiter_poll(struct blog_waiter *waiter, struct file *file,
		      struct poll_table_struct *table)
{
	poll_wait(file, &waiter->queue, table);
	return wq_has_sleeper(&waiter->queue);
}

/* Lets whoever is in the wait queue look again. */
void blog_waiter_wake_in(struct blog_waiter *waiter, u32 ms)
{
	if (wq_has_sleeper(&waiter->queue))
		queue_delayed_work(system_dfl_wq, &waiter->wake, msecs_to_jiffies(ms));
}

/* Sleeps, or until a signal comes: then it returns false. */
bool blog_sleep(u32 ms)
{
	msleep_interruptible(ms);
	return !signal_pending(current);
}
