// SPDX-License-Identifier: GPL-2.0
/*
 * Notes the clocks when the machine sleeps. With one CPU left, the kernel calls syscore operations,
 * sleeps, and calls them again after it; so does a guest of Xen that is saved or moved. BLog's
 * operation is registered once, after that of timekeeping. So the kernel calls it before the clocks
 * stop, and after they have started again.
 *
 * If a machine is only idle (s2idle), the kernel calls no syscore operation, but clocks stop all
 * the same. So PM notifiers note all clocks, too. They may be called any number of times, in any
 * order: opening /dev/snapshot also calls them.
 */
#include <linux/notifier.h>
#include <linux/suspend.h>
#include <linux/syscore_ops.h>

#include "clock.h"

static int blog_syscore_suspend(void *data)
{
	blog_clock_sleeps(false);
	return 0;
}

static void blog_syscore_resume(void *data)
{
	blog_clock_sleeps(true);
}

static const struct syscore_ops blog_syscore_ops = {
	.suspend = blog_syscore_suspend,
	.resume = blog_syscore_resume,
};

static struct syscore blog_syscore = {
	.ops = &blog_syscore_ops,
};

static int blog_pm_event(struct notifier_block *nb, unsigned long event, void *unused)
{
	blog_clock_note();
	return NOTIFY_DONE;
}

static struct notifier_block blog_pm_nb = {
	.notifier_call = blog_pm_event,
};

void blog_start_suspend(void)
{
	register_syscore(&blog_syscore);
	/* That fails where it is registered already. */
	register_pm_notifier(&blog_pm_nb);
}
