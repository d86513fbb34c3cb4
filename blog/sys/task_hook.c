// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that end or get another name, by tracepoints: where task_struct has no pointer to their
 * rings (else hook.c).
 */

#include <linux/stddef.h>

#include "glue.h"

/* Set before a tracepoint calls it. */
static void (*blog_task_hook)(struct task_struct *tsk, bool freed);

/*
 * A task has left its CPU for good and is known to nobody, a grace period ago.
 * Somebody may still hold a reference to it, but it doesn't log.
 */
static void blog_task_freed(void *unused, struct task_struct *tsk)
{
	blog_task_hook(tsk, true);
}

/* The caller is about to store another name of @tsk. */
static void blog_renamed(void *unused, struct task_struct *tsk, const char *comm)
{
	blog_task_hook(tsk, false);
}

/* From here on, the hook is called. An error: it isn't, and never will be. */
int blog_start_task_hook(void (*hook)(struct task_struct *tsk, bool freed))
{
	int ret;

	blog_task_hook = hook;
	ret = blog_tracepoint_attach("sched_process_free", blog_task_freed, NULL);
	/* Without memory for this one, a name is that of before. */
	if (!ret)
		blog_tracepoint_attach("task_rename", blog_renamed, NULL);
	return ret;
}
