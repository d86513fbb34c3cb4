// SPDX-License-Identifier: GPL-2.0
/*
 * In place of blog/parts/dumps/crash.c, for a kernel without BLog's patches: crashes, by what such
 * a kernel exports. The comment of each function has its limits; docs/stock.rst has all of them.
 */

#include <linux/atomic.h>
#include <linux/kdebug.h>
#include <linux/notifier.h>
#include <linux/panic.h>
#include <linux/panic_notifier.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "../../sys/glue.h"
#include "crash.h"

static void blog_freeze_now(void)
{
	static atomic_t noted;

	blog_root_freeze(get_cycles(), ktime_get_mono_fast_ns(), ktime_get_boot_fast_ns(),
			 ktime_get_real_fast_ns(), local_clock(), raw_smp_processor_id(), current,
			 current->pid, current->tgid, current->comm);
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

/* Once. Neither notifier fails that isn't there yet. */
void blog_start_crash_hook(void)
{
	atomic_notifier_chain_register(&panic_notifier_list, &blog_anchor.nb);
	register_die_notifier(&blog_die_nb);
	/* Without memory for it, a crash is known later. */
	blog_tracepoint_attach("console", blog_printed, NULL);
}
