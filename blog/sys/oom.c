// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel asks once more before it kills a task for want of memory: what was
 * given back by then is freed only after a grace period, which reclaim doesn't
 * wait for.
 */

#include <linux/notifier.h>
#include <linux/oom.h>

#include "glue.h"

static int blog_oom_fn(struct notifier_block *nb, unsigned long unused, void *freed)
{
	*(unsigned long *)freed += blog_out_of_memory();
	return NOTIFY_OK;
}

static struct notifier_block blog_oom_nb = { .notifier_call = blog_oom_fn };

int blog_start_oom(void)
{
	return register_oom_notifier(&blog_oom_nb);
}

void blog_stop_oom(void)
{
	unregister_oom_notifier(&blog_oom_nb);
}
