// SPDX-License-Identifier: GPL-2.0
/*
 * Where a task has what, and how time is counted, for crash tools.
 */

#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/stddef.h>

#include "crash.h"

u32 blog_hz(void)
{
	return HZ;
}

#define BLOG_TASK(field) offsetof(struct task_struct, field)

const struct blog_task_layout blog_task_layout = {
	.size = sizeof(struct task_struct),
	.pid = BLOG_TASK(pid),
	.tgid = BLOG_TASK(tgid),
	.comm = BLOG_TASK(comm),
	.state = BLOG_TASK(__state),
	.exit_state = BLOG_TASK(exit_state),
	.flags = BLOG_TASK(flags),
	.on_cpu = BLOG_TASK(on_cpu),
#if defined(CONFIG_SMP) || defined(CONFIG_UML)
	.cpu = BLOG_TASK(thread_info.cpu),
#else
	.cpu = U32_MAX,
#endif
	/* Rust knows it. */
	.blog_tls = U32_MAX,
	.tasks = BLOG_TASK(tasks),
	.thread_node = BLOG_TASK(thread_node),
	.signal = BLOG_TASK(signal),
	.thread_head = offsetof(struct signal_struct, thread_head),
	.group_leader = BLOG_TASK(group_leader),
	.stack = BLOG_TASK(stack),
#ifdef CONFIG_DETECT_HUNG_TASK
	.last_switch_time = BLOG_TASK(last_switch_time),
#else
	.last_switch_time = U32_MAX,
#endif
#ifdef CONFIG_DETECT_HUNG_TASK_BLOCKER
	.blocker = BLOG_TASK(blocker),
#else
	.blocker = U32_MAX,
#endif
};
