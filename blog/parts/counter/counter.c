// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter that chooses the clock; and notes of the clocks when the machine sleeps.
 *
 * With one CPU left, the kernel calls syscore operations, sleeps, and calls them again after it; so
 * does a guest of Xen that is saved or moved. BLog's operation is registered once, after that of
 * timekeeping. So the kernel calls it before the clocks stop, and after they have started again.
 *
 * If a machine is only idle (s2idle), the kernel calls no syscore operation, but clocks stop all
 * the same. So PM notifiers note all clocks, too. They may be called any number of times, in any
 * order: opening /dev/snapshot also calls them.
 */
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/suspend.h>
#include <linux/syscore_ops.h>

#include "../../sys/params.h"
#include "counter.h"

/* A load that fails gives the text back. */
BLOG_PARAM_OPS(text, blog_parse_text, param_get_charp, .free = param_free_charp);

char *blog_param_clock = "auto";
module_param_cb(clock, &blog_text_ops, &blog_param_clock, 0444);
MODULE_PARM_DESC(clock, "Clock of all records: auto, counter or mono (default auto)");

/* Held while pairs are read or changed: see pairs.rs. */
static DEFINE_RAW_SPINLOCK(blog_pairs_lock);

unsigned long blog_lock_pairs(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&blog_pairs_lock, flags);
	return flags;
}

void blog_unlock_pairs(unsigned long flags)
{
	raw_spin_unlock_irqrestore(&blog_pairs_lock, flags);
}

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
