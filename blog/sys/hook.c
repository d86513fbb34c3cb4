// SPDX-License-Identifier: GPL-2.0
/*
 * The built-in part of BLog: the hook for a task with rings that ends or gets another name, if it
 * has a pointer to them (else task_hook.c), and the hook for a crash. The logger itself may be a
 * module, so it registers its function here when it is ready. At a crash there is no call of the
 * module: that code is built in.
 *
 * Nothing here dereferences tsk->blog_tls, and nothing here is on a logging path.
 */

#include <linux/blog.h>
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kexec.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/panic.h>
#include <linux/panic_notifier.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/security.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>
#include <trace/events/printk.h>

#include "glue.h"

#ifdef CONFIG_BLOG_TASK_POINTER
/* Set once, when the logger starts. */
static void (*blog_task_hook)(struct task_struct *tsk, bool freed);

/*
 * A task with rings has another name, or its last reference is gone. Called by __set_task_comm(),
 * and by free_task() in any context that frees a task, softirq included.
 */
void __blog_task_changed(struct task_struct *tsk, bool freed)
{
	void (*hook)(struct task_struct *tsk, bool freed) = READ_ONCE(blog_task_hook);

	if (hook)
		hook(tsk, freed);
	if (freed)
		blog_task_init(tsk);
}

/* From here on, the hook is called. */
int blog_start_task_hook(void (*hook)(struct task_struct *tsk, bool freed))
{
	WRITE_ONCE(blog_task_hook, hook);
	return 0;
}
EXPORT_SYMBOL_GPL(blog_start_task_hook);
#endif

/*
 * Whether kernel addresses are for the user who opened a file: by the rule of /proc/kallsyms,
 * kptr_restrict, and CAP_SYSLOG when it was opened; and at integrity, for nobody.
 */
bool blog_shows_addresses(const struct file *file)
{
	return kallsyms_show_value(file->f_cred) && !security_locked_down(LOCKDOWN_DEBUGFS);
}
EXPORT_SYMBOL_GPL(blog_shows_addresses);

/* "blog=off" */
static bool blog_is_on __ro_after_init = true;
core_param(blog, blog_is_on, bool, 0);

/* Whether no component is to log until it is switched on. */
bool blog_boots_off(void)
{
	return !blog_is_on;
}
EXPORT_SYMBOL_GPL(blog_boots_off);

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
