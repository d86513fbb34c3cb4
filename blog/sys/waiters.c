// SPDX-License-Identifier: GPL-2.0
/*
 * Who waits for a stream. A log call wakes nobody, so while somebody waits, a
 * work item looks at the rings now and then, and wakes all who wait if there is
 * anything new. Who wakes up looks whether it is new to him. Nobody waits: no
 * work. That is why this is no PollCondVar: it can't tell whether anybody waits.
 */

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/poll.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "glue.h"

/* Often enough for data to be seen in 50 ms, on a busy machine too. */
#define BLOG_STREAM_TICK_MS 20

static DECLARE_WAIT_QUEUE_HEAD(blog_stream_wq);

static void blog_stream_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(blog_stream_ticker, blog_stream_work);

void blog_wake_streams(void)
{
	wake_up_interruptible_poll(&blog_stream_wq, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

/*
 * Starts the work item if need be; returns whether it was. The caller is in the
 * wait queue already: either the work item finds him there and goes on, or it
 * has ended and is queued here.
 */
static bool blog_stream_arm(void)
{
	return queue_delayed_work(system_dfl_wq, &blog_stream_ticker,
				  msecs_to_jiffies(BLOG_STREAM_TICK_MS));
}

static void blog_stream_work(struct work_struct *work)
{
	u64 start = ktime_get_ns();
	unsigned long ms;

	if (blog_stream_tick())
		blog_wake_streams();
	/* With very many rings, a look takes long: no more than an eighth of a CPU. */
	ms = min(div_u64(ktime_get_ns() - start, NSEC_PER_MSEC / 8), MSEC_PER_SEC);
	if (wq_has_sleeper(&blog_stream_wq))
		queue_delayed_work(system_dfl_wq, &blog_stream_ticker,
				   msecs_to_jiffies(max(ms, BLOG_STREAM_TICK_MS)));
}

void blog_stop_streams(void)
{
	cancel_delayed_work_sync(&blog_stream_ticker);
}

/* Waits until a count isn't what it was; -ERESTARTSYS if a signal comes first. */
int blog_stream_wait(const u64 *count, u64 old)
{
	return wait_event_interruptible(blog_stream_wq,
					(blog_stream_arm(), READ_ONCE(*count) != old));
}

/* While the work item is at it, it knows best whether there is news: see there. */
bool blog_stream_poll_wait(struct file *file, struct poll_table_struct *wait)
{
	poll_wait(file, &blog_stream_wq, wait);
	return blog_stream_arm();
}
