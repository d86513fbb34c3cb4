// SPDX-License-Identifier: GPL-2.0
/*
 * Last words: when they are due, and how they are packed and printed. What they
 * say is in mod.rs.
 */

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/kdebug.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/zlib.h>

#include "../../sys/params.h"
#include "hook.h"
#include "words.h"

#ifdef CONFIG_BLOG_HOOKS

/* The last task that the detector has found: sys_info() has no argument for it. */
static pid_t blog_hung;

/* The hung-task detector has found a task, and will call sys_info() when it has found all. */
void blog_words_hung(struct task_struct *tsk)
{
	WRITE_ONCE(blog_hung, tsk->pid);
}

/* By sys_info(): for the hung-task detector, or for a lockup, which is found in an interrupt. */
static void blog_words_asked(void)
{
	struct task_struct *tsk;

	if (!in_task()) {
		blog_last_words(BLOG_STUCK, current);
		return;
	}
	rcu_read_lock();
	tsk = pid_task(find_pid_ns(xchg(&blog_hung, 0), &init_pid_ns), PIDTYPE_PID);
	if (tsk)
		get_task_struct(tsk);
	rcu_read_unlock();
	if (!tsk)
		return;
	blog_last_words(BLOG_HANG, tsk);
	put_task_struct(tsk);
}

#else /* A kernel without BLog's patches: sys_info() doesn't know it. */

void blog_words_hung(struct task_struct *tsk)
{
	blog_last_words(BLOG_HANG, tsk);
}

static int blog_parse_events(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, 7);
}

BLOG_PARAM_OPS(last_words, blog_parse_events, param_get_uint);

static unsigned int blog_last_words_mask = BIT(BLOG_PANIC);
module_param_cb(last_words, &blog_last_words_ops, &blog_last_words_mask, 0644);
MODULE_PARM_DESC(last_words, "Print the last records to the kernel's log: 1 at a panic, 2 at an oops, 4 for a task that hangs, or a sum of these (default 1)");

static bool blog_words_wanted(u32 why)
{
	return READ_ONCE(blog_last_words_mask) & BIT(why);
}

#endif

#define BLOG_AN_HOUR RATELIMIT_STATE_INIT(blog_words_limits, 3600 * HZ, 3)

static struct ratelimit_state blog_words_limits[] = {
	[BLOG_PANIC] = BLOG_AN_HOUR,
	[BLOG_OOPS] = BLOG_AN_HOUR,
	[BLOG_HANG] = BLOG_AN_HOUR,
	[BLOG_STUCK] = BLOG_AN_HOUR,
};

/* Whether such events are wanted, and there were not too many before. */
bool blog_words_due(u32 why)
{
	return blog_words_wanted(why) && __ratelimit(&blog_words_limits[why]);
}

/* After blog_panic(), and before what may end the machine without a word. */
static int blog_words_panic(struct notifier_block *nb, unsigned long event, void *msg)
{
	blog_last_words(BLOG_PANIC, current);
	return NOTIFY_DONE;
}

static struct notifier_block blog_words_panic_nb = {
	.notifier_call = blog_words_panic,
	.priority = INT_MAX,
};

static int blog_words_died(struct notifier_block *nb, unsigned long event, void *args)
{
	if (event == DIE_OOPS)
		blog_last_words(BLOG_OOPS, current);
	return NOTIFY_DONE;
}

static struct notifier_block blog_words_die_nb = { .notifier_call = blog_words_died };

void blog_words_start(void)
{
	/* Neither fails: each is registered once. */
	atomic_notifier_chain_register(&panic_notifier_list, &blog_words_panic_nb);
	register_die_notifier(&blog_words_die_nb);
#ifdef CONFIG_BLOG_HOOKS
	blog_words_on_sys_info(blog_words_asked);
#endif
}

/* There are 4 KiB at most to pack at a time. */
#define BLOG_WINDOW_BITS 12
#define BLOG_MEM_LEVEL	 5

/* Bytes that blog_pack() needs to work. */
size_t blog_pack_room(void)
{
	return zlib_deflate_workspacesize(-BLOG_WINDOW_BITS, BLOG_MEM_LEVEL);
}

/*
 * Packs bytes as raw deflate; returns the length, 0 where that is more than @size.
 * Any context: it only computes.
 */
size_t blog_pack(void *room, const void *from, size_t len, void *to, size_t size)
{
	struct z_stream_s stream = {
		.workspace = room,
		.next_in = from,
		.avail_in = len,
		.next_out = to,
		.avail_out = size,
	};

	if (zlib_deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -BLOG_WINDOW_BITS,
			      BLOG_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	return zlib_deflate(&stream, Z_FINISH) == Z_STREAM_END ? stream.total_out : 0;
}

/* Who looks at a panic or an oops has all levels on the console; a hang is an error. */
void blog_words_print(const char *line, u32 len)
{
	pr_err("%.*s\n", (int)len, line);
}
