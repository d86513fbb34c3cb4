// SPDX-License-Identifier: GPL-2.0
/* Readers that wait for records: see "Waiting" in Documentation/blog/design-read.rst. */

#include <linux/jiffies.h>
#include <linux/poll.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "glue.h"

static DECLARE_WAIT_QUEUE_HEAD(blog_waiters);

static void blog_wake_fn(struct work_struct *work)
{
	wake_up_interruptible_poll(&blog_waiters, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

static DECLARE_DELAYED_WORK(blog_wake_work, blog_wake_fn);

bool blog_poll_wait(struct file *file, struct poll_table_struct *table)
{
	poll_wait(file, &blog_waiters, table);
	return wq_has_sleeper(&blog_waiters);
}

void blog_wake_in(u32 ms)
{
	unsigned long delay = msecs_to_jiffies(ms);

	if (!wq_has_sleeper(&blog_waiters))
		return;
	if (!delayed_work_pending(&blog_wake_work) ||
	    time_before(jiffies + delay, blog_wake_work.timer.expires))
		mod_delayed_work(system_dfl_wq, &blog_wake_work, delay);
}
