// SPDX-License-Identifier: GPL-2.0
/*
 * The hook for a crash. The logger itself may be a module; at a crash there is no call of it: this
 * is built in.
 */

#include <linux/export.h>
#include <linux/kdebug.h>
#include <linux/kexec.h>
#include <linux/notifier.h>
#include <linux/panic.h>
#include <linux/panic_notifier.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>
#include <trace/events/printk.h>

#include "crash.h"

/*
 * The machine is about to stop. From here on, rings keep what they have, and crash tools can tell
 * when this was. The first call counts. Any context, NMI included; takes no lock.
 *
 * A panic notifier leads here, for all that comes after panic(); for a kdump kernel that is started
 * before the notifiers, blog_printed() by panic() and blog_died() by an oops that doesn't get
 * there. See Documentation/blog/design-read.rst.
 */
static noinline void blog_crash(void)
{
	/* In rust/kernel/blog/root.rs, which is built in, too. */
	blog_root_freeze(get_cycles(), ktime_get_mono_fast_ns(), ktime_get_boot_fast_ns(),
			 ktime_get_real_fast_ns(), local_clock(), raw_smp_processor_id(), current,
			 current->pid, current->tgid, current->comm);
}

static int blog_panic(struct notifier_block *nb, unsigned long event, void *msg)
{
	blog_crash();
	return NOTIFY_DONE;
}

/* Before all others: they may log. */
static struct notifier_block blog_panic_nb = {
	.notifier_call = blog_panic,
	.priority = INT_MAX,
};

/* The first line that panic() prints, before it starts a kdump kernel. Any context. */
static void blog_printed(void *unused, const char *text, size_t len)
{
	if (panic_on_this_cpu())
		blog_crash();
}

/* An oops that starts a kdump kernel, as oops_end() decides. Any context. */
static int blog_died(struct notifier_block *nb, unsigned long event, void *args)
{
	if (event == DIE_OOPS && kexec_crash_loaded() && kexec_should_crash(current))
		blog_crash();
	return NOTIFY_DONE;
}

static struct notifier_block blog_die_nb = { .notifier_call = blog_died };

/* Once. Neither notifier fails that isn't there yet. */
void blog_start_crash_hook(void)
{
	/* Without tracepoints, a crash by panic() is known when its notifiers are called. */
	register_trace_console(blog_printed, NULL);
	atomic_notifier_chain_register(&panic_notifier_list, &blog_panic_nb);
	register_die_notifier(&blog_die_nb);
}
EXPORT_SYMBOL_GPL(blog_start_crash_hook);
