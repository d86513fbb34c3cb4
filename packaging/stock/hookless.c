// SPDX-License-Identifier: GPL-2.0
/*
 * In place of hook.c, for a kernel without BLog's patches: tasks that end, crashes,
 * and the rights of readers, by what such a kernel exports. The comment of each
 * function has its limits; docs/stock.rst has all of them.
 */

#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kdebug.h>
#include <linux/notifier.h>
#include <linux/panic.h>
#include <linux/panic_notifier.h>
#include <linux/sched/clock.h>
#include <linux/security.h>
#include <linux/smp.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>
#include <linux/tracepoint.h>
#include <linux/user_namespace.h>

#include "glue.h"

/* Probes of tracepoints, found by name: not all tracepoints are exported. */
struct blog_wanted {
	const char *name;
	struct tracepoint *tp;
};

static void blog_look_at(struct tracepoint *tp, void *wanted)
{
	struct blog_wanted *want = wanted;

	if (!strcmp(tp->name, want->name))
		want->tp = tp;
}

/* From now on @probe is called; NULL if there is no such tracepoint, or no memory. */
static struct tracepoint *blog_probe(const char *name, void *probe)
{
	struct blog_wanted want = { .name = name };

	for_each_kernel_tracepoint(blog_look_at, &want);
	if (!want.tp || tracepoint_probe_register(want.tp, probe, NULL))
		return NULL;
	return want.tp;
}

/* Not any more. A call may still run until tracepoint_synchronize_unregister(). */
static void blog_unprobe(struct tracepoint *tp, void *probe)
{
	if (tp)
		tracepoint_probe_unregister(tp, probe, NULL);
}

static void (*blog_task_hook)(struct task_struct *tsk, bool freed);
static struct tracepoint *blog_free_probe, *blog_rename_probe, *blog_panic_probe;

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

static void blog_freeze_now(void)
{
	static atomic_t noted;

	blog_root_freeze(get_cycles(), ktime_get_mono_fast_ns(), ktime_get_boot_fast_ns(),
			 ktime_get_real_fast_ns(), local_clock(), raw_smp_processor_id(),
			 current);
	if (!atomic_xchg(&noted, 1))
		blog_note_tasks();
}

static int blog_panic(struct notifier_block *nb, unsigned long event, void *msg)
{
	blog_freeze_now();
	return NOTIFY_DONE;
}

/*
 * Crash tools know the head of the list of panic notifiers, and find the root
 * after ours; struct Anchor of rust/kernel/blog/wire/dump.rs.
 */
static struct {
	struct notifier_block nb;
	u64 magic;
	struct blog_root *root;
} blog_anchor = {
	.nb = { .notifier_call = blog_panic, .priority = INT_MAX },
	.magic = 0x746f6f72676f6c62, /* "blogroot" */
	.root = &blog_root,
};

static_assert(offsetof(typeof(blog_anchor), magic) == 24);

/*
 * A kdump kernel is started before the notifiers, but panic() prints a line
 * before that. (An oops that is fatal by panic_on_oops or by where it happens
 * starts it without a line: then nothing is frozen, and the other CPUs go on
 * logging until they are stopped; see blog_died().) Any context, interrupts off.
 */
static void blog_printed(void *unused, const char *text, size_t len)
{
	if (panic_on_this_cpu())
		blog_freeze_now();
}

/* An oops: nobody knows yet whether it is fatal, and these notes do no harm. */
static int blog_died(struct notifier_block *nb, unsigned long event, void *args)
{
	if (event == DIE_OOPS)
		blog_note_tasks();
	return NOTIFY_DONE;
}

static struct notifier_block blog_die_nb = { .notifier_call = blog_died };

int blog_start_hooks(void (*hook)(struct task_struct *tsk, bool freed))
{
	int ret;

	blog_task_hook = hook;
	blog_free_probe = blog_probe("sched_process_free", blog_task_freed);
	if (!blog_free_probe)
		return -ENODEV;
	ret = atomic_notifier_chain_register(&panic_notifier_list, &blog_anchor.nb) ?:
	      register_die_notifier(&blog_die_nb);
	if (ret) {
		blog_stop_hooks();
		return ret;
	}
	blog_rename_probe = blog_probe("task_rename", blog_renamed);
	blog_panic_probe = blog_probe("console", blog_printed);
	return 0;
}

/* On return no call runs. */
void blog_stop_hooks(void)
{
	blog_unprobe(blog_panic_probe, blog_printed);
	blog_unprobe(blog_rename_probe, blog_renamed);
	unregister_die_notifier(&blog_die_nb);
	atomic_notifier_chain_unregister(&panic_notifier_list, &blog_anchor.nb);
	blog_unprobe(blog_free_probe, blog_task_freed);
	tracepoint_synchronize_unregister();
}

/*
 * As in hook.c. kallsyms_show_value() is not exported; of kptr_restrict, %pK
 * shows whether it hides addresses from everybody. (With kptr_restrict=0 and
 * perf_event_paranoid<=1, /proc/kallsyms shows them without CAP_SYSLOG, too.)
 */
bool blog_shows_addresses(const struct file *file)
{
	char text[32];

	snprintf(text, sizeof(text), "%pK", file);
	return file_ns_capable(file, &init_user_ns, CAP_SYSLOG) &&
	       strspn(text, "0") < strlen(text) && !security_locked_down(LOCKDOWN_DEBUGFS);
}

/* As with patches. */
int blog_may_open(void)
{
	return security_locked_down(LOCKDOWN_TRACEFS);
}

/* The command line is for this module only where it says "blog.". */
bool blog_boots_off(void)
{
	return false;
}
