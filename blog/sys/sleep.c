// SPDX-License-Identifier: GPL-2.0
/*
 * When the clock of records may break: the machine sleeps, or another clock is
 * to be used. clock.rs says what is done then; this says when.
 *
 * Told to sleep (PM_*_PREPARE), a machine first freezes tasks and stops devices.
 * Then, with one CPU left, it calls syscore operations, sleeps, and goes the
 * same way back (PM_POST_*). Where it is only idle (s2idle), or doesn't sleep
 * after all, the syscore operations aren't called.
 *
 * They are registered for the time of a sleep. So they are the last ones, which
 * are called before those of timekeeping stop the clocks, and after these have
 * started them again.
 */
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/suspend.h>
#include <linux/syscore_ops.h>
#include <linux/workqueue.h>

#include "glue.h"

/* What is below, and in clock.rs what changes the clock. */
static DEFINE_MUTEX(blog_sleep_lock);
/* Odd: told to sleep. */
static unsigned int blog_sleeps;

static int blog_syscore_suspend(void *data)
{
	blog_sleep_enters();
	return 0;
}

static void blog_syscore_resume(void *data)
{
	blog_sleep_leaves();
}

static const struct syscore_ops blog_syscore_ops = {
	.suspend = blog_syscore_suspend,
	.resume = blog_syscore_resume,
};

static struct syscore blog_syscore = {
	.ops = &blog_syscore_ops,
};

/*
 * Waits for the log calls that are running now, and then lets log calls read
 * the clock themselves again. Unless a sleep came in between: there will be
 * another one of these at its end.
 */
static void blog_settle_fn(struct work_struct *work)
{
	unsigned int sleeps = READ_ONCE(blog_sleeps);

	blog_quiesce();
	mutex_lock(&blog_sleep_lock);
	if (!(sleeps & 1) && sleeps == blog_sleeps) {
		blog_clock_choose();
		blog_expire_rings();
		blog_clock_settled();
	}
	mutex_unlock(&blog_sleep_lock);
}

static DECLARE_WORK(blog_settle_work, blog_settle_fn);

void blog_settle(void)
{
	queue_work(system_dfl_wq, &blog_settle_work);
}

static int blog_pm_event(struct notifier_block *nb, unsigned long event, void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		mutex_lock(&blog_sleep_lock);
		WRITE_ONCE(blog_sleeps, blog_sleeps + 1);
		blog_sleep_begins();
		mutex_unlock(&blog_sleep_lock);
		register_syscore(&blog_syscore);
		return NOTIFY_OK;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		unregister_syscore(&blog_syscore);
		mutex_lock(&blog_sleep_lock);
		blog_sleep_ends();
		WRITE_ONCE(blog_sleeps, blog_sleeps + 1);
		mutex_unlock(&blog_sleep_lock);
		blog_settle();
		return NOTIFY_OK;
	}
	return NOTIFY_DONE;
}

static struct notifier_block blog_pm_nb = {
	.notifier_call = blog_pm_event,
};

/*
 * Both not while it goes to sleep or wakes up: BLog may be loaded and unloaded
 * until tasks are frozen, and would be told of one half of that.
 */
int blog_start_sleep(void)
{
	unsigned int flags = lock_system_sleep();
	int ret = register_pm_notifier(&blog_pm_nb);

	unlock_system_sleep(flags);
	return ret;
}

void blog_stop_sleep(void)
{
	unsigned int flags = lock_system_sleep();

	unregister_pm_notifier(&blog_pm_nb);
	unlock_system_sleep(flags);
	cancel_work_sync(&blog_settle_work);
}
