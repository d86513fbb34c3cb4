// SPDX-License-Identifier: GPL-2.0
/*
 * The C side of BLog's module: what Rust has no abstraction for.
 *
 * Exports for drivers, the module notifier, module parameters, the file
 * operations of debugfs files, the lock of the task tables, and one-line
 * wrappers of macros and inline functions. main.rs and its modules call what
 * is here and implement the prototypes under "In Rust" of glue.h. There is no
 * policy and no state here, and what a logging path may call (marked notrace)
 * neither locks nor sleeps nor allocates.
 *
 * The files are not made with the Rust debugfs abstraction, because that one
 * has no module owner: the file operations of a file that is still open when
 * the module goes would be used after they are freed.
 */

#include <linux/atomic.h>
#include <linux/blog.h>
#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "glue.h"

/* Longest text that a control file takes in one write. */
#define BLOG_WRITE_MAX	4096

/* Parameters. */

static char *blog_clock = "auto";
module_param_named(clock, blog_clock, charp, 0444);
MODULE_PARM_DESC(clock, "Clock of all records: auto, tsc or mono (default auto)");

static unsigned int blog_max_kb;

/* It is set when it holds: see worker.rs. */
static int blog_set_max_kb(const char *val, const struct kernel_param *kp)
{
	unsigned int kb;
	int ret;

	ret = kstrtouint(val, 0, &kb);
	if (ret)
		return ret;
	ret = blog_max_kb_setting(kb ?: min(blog_ram_kb() / 8, U32_MAX));
	if (!ret)
		WRITE_ONCE(blog_max_kb, kb);
	blog_max_kb_set();
	return ret;
}

static const struct kernel_param_ops blog_max_kb_ops = {
	.set = blog_set_max_kb,
	.get = param_get_uint,
};

module_param_cb(max_kb, &blog_max_kb_ops, &blog_max_kb, 0644);
MODULE_PARM_DESC(max_kb, "Limit for the pages of all components in KiB (default 0: an eighth of memory)");

static unsigned int blog_stalled_secs = 10;
module_param_named(stalled_secs, blog_stalled_secs, uint, 0644);
MODULE_PARM_DESC(stalled_secs, "Seconds after which a blocked task that logs nothing is called stalled (default 10)");

static bool blog_stuck_hint = true;
module_param_named(stuck_hint, blog_stuck_hint, bool, 0644);
MODULE_PARM_DESC(stuck_hint, "Say after a report of a hung task or soft lockup what that task has logged (default Y)");

u32 blog_param_stalled_secs(void)
{
	return READ_ONCE(blog_stalled_secs);
}

bool blog_param_stuck_hint(void)
{
	return READ_ONCE(blog_stuck_hint);
}

const char *blog_param_clock(void)
{
	return blog_clock;
}

u32 blog_param_max_kb(void)
{
	return READ_ONCE(blog_max_kb);
}

unsigned long blog_ram_kb(void)
{
	return totalram_pages() << (PAGE_SHIFT - 10);
}

/* Exports. */

EXPORT_RUST_SYMBOL_GPL(blog_component_register);
EXPORT_RUST_SYMBOL_GPL(blog_component_unregister);
EXPORT_RUST_SYMBOL_GPL(blog_put);
EXPORT_RUST_SYMBOL_GPL(blog_reserve);

/* Written once, before anything can log. */
u8 blog_clock_is_tsc __read_mostly;
EXPORT_SYMBOL_GPL(blog_clock_is_tsc);

/* Any context, NMI included. May step back a little. */
notrace u64 blog_clock_mono(void)
{
	return ktime_get_mono_fast_ns();
}

u32 blog_hz(void)
{
	return HZ;
}

/*
 * All clocks at one instant. The others are read between two reads of the
 * ring's clock; of a few tries the closest one counts, so that an interrupt
 * in the middle does no harm.
 */
void blog_clock_pair(struct blog_clock_pair *pair)
{
	u64 best = U64_MAX;
	int i;

	for (i = 0; i < 5; i++) {
		u64 before, mono, real, boot, after;
		unsigned long flags;

		local_irq_save(flags);
		before = blog_clock_is_tsc ? blog_clock_tsc() : blog_clock_mono();
		mono = ktime_get_ns();
		real = ktime_get_real_ns();
		boot = ktime_get_boottime_ns();
		after = blog_clock_is_tsc ? blog_clock_tsc() : blog_clock_mono();
		local_irq_restore(flags);

		if (after - before < best) {
			best = after - before;
			pair->clock = before + best / 2;
			pair->mono = mono;
			pair->real = real;
			pair->boot = boot;
		}
	}
}

/*
 * Where the caller runs: context (0 task, 1 softirq, 2 hardirq, 3 NMI) in the
 * low byte, CPU above. In a task, the CPU may be another one already.
 *
 * By the same bits as the inlined fast path. With PREEMPT_RT, softirqs are not
 * among them: they run in tasks there, may be preempted by other softirqs on
 * their CPU, and so log to their tasks' rings.
 */
notrace u32 blog_where(void)
{
	return interrupt_context_level() | raw_smp_processor_id() << 8;
}

/* Unlike the helper that Rust has, this one can't be traced. */
notrace struct task_struct *blog_current(void)
{
	return current;
}

/* Who owns which task table: see task.rs. */
static DEFINE_RAW_SPINLOCK(blog_tls_spinlock);

unsigned long blog_tls_lock(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&blog_tls_spinlock, flags);
	return flags;
}

void blog_tls_unlock(unsigned long flags)
{
	raw_spin_unlock_irqrestore(&blog_tls_spinlock, flags);
}

#if IS_ENABLED(CONFIG_BLOG_KUNIT_TEST)
/* What state_letter() of rust/kernel/blog/root.rs is to say. */
char blog_state_letter(u32 state, u32 exit_state)
{
	return task_index_to_char(__task_state_index(state, exit_state));
}
#endif

void blog_key_set(struct static_key *key, bool on)
{
	if (on)
		static_key_enable(key);
	else
		static_key_disable(key);
}

/*
 * Waits until all log calls have ended that began before.
 *
 * A log call never sleeps, not even on PREEMPT_RT (it takes no lock), but it
 * may be preempted. So it has ended
 *
 * - in a task, when the task has slept by itself or been in user mode, or is
 *   gone: synchronize_rcu_tasks() waits for that. It also waits for tasks that
 *   are exiting, up to where they disable preemption for the last time; from
 *   there on, the next point holds. Without PREEMPTION it is synchronize_rcu(),
 *   and a log call is never preempted;
 * - in an interrupt, softirq or NMI, and wherever preemption is off, when its
 *   CPU has left that: synchronize_rcu() waits for it as long as RCU watches
 *   the CPU, and the entry of each interrupt and NMI sees to that;
 * - in an idle task, which synchronize_rcu_tasks() leaves out: the idle loop
 *   and the callbacks of CPU hotplug that idle tasks run have preemption or
 *   interrupts off, so it is the same as above, as long as RCU watches. Where
 *   it does not (from ct_cpuidle_enter() on, or before
 *   rcutree_report_cpu_starting() and after rcutree_report_cpu_dead()) x86 has
 *   only noinstr code, checked by objtool, in which logging is not allowed. UML
 *   has only its own few lines of C there.
 *
 * So synchronize_rcu_tasks_rude() would wait for nothing more. On x86, which
 * has ARCH_WANTS_NO_INSTR, it is empty for this very reason.
 */
void blog_quiesce(void)
{
	synchronize_rcu_tasks();
	synchronize_rcu();
}

void *blog_page_address(struct page *page)
{
	return page_address(page);
}

/* CRC-32 as in zlib: start with 0, go on with what the last call returned. */
u32 blog_crc32(u32 crc, const u8 *p, size_t len)
{
	return ~crc32_le(~crc, p, len);
}

void blog_uts(char *release, char *machine, char *host, size_t size)
{
	strscpy_pad(release, init_utsname()->release, size);
	strscpy_pad(machine, init_utsname()->machine, size);
	strscpy_pad(host, init_utsname()->nodename, size);
}

void blog_random(u8 *buf, size_t len)
{
	get_random_bytes(buf, len);
}

/* Modules and vmlinux. */

#ifndef MODULE
#include <linux/buildid.h>
#endif

/*
 * The sites and components of vmlinux; returns the number of sites. As a
 * module, BLog leaves vmlinux alone: what is built in can't call it.
 */
u32 blog_vmlinux(const u8 **build_id, struct blog_site **sites,
		 struct blog_component ***comps, u32 *num_comps)
{
#ifndef MODULE
	*build_id = vmlinux_build_id;
	*sites = __start_blog_sites;
	*comps = __start_blog_components;
	*num_comps = __stop_blog_components - __start_blog_components;
	return __stop_blog_sites - __start_blog_sites;
#else
	*build_id = NULL;
	*sites = NULL;
	*comps = NULL;
	*num_comps = 0;
	return 0;
#endif
}

#ifdef CONFIG_MODULES
static int blog_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;

	if (!mod->num_blog_sites && !mod->num_blog_components)
		return NOTIFY_DONE;

	switch (event) {
	case MODULE_STATE_COMING:
		blog_module_coming(mod->name, mod->build_id,
				   mod->blog_sites, mod->num_blog_sites,
				   mod->blog_components, mod->num_blog_components);
		break;
	case MODULE_STATE_GOING:
		blog_module_going(mod->blog_sites, mod->num_blog_sites,
				  mod->blog_components, mod->num_blog_components);
		break;
	}
	return NOTIFY_OK;
}

/*
 * After jump labels (priority 1) know the module: its components' static keys
 * are switched from here.
 */
static struct notifier_block blog_module_nb = {
	.notifier_call = blog_module_event,
};

int blog_start_modules(void)
{
	return register_module_notifier(&blog_module_nb);
}

void blog_stop_modules(void)
{
	unregister_module_notifier(&blog_module_nb);
}
#else
int blog_start_modules(void)
{
	return 0;
}

void blog_stop_modules(void)
{
}
#endif

/*
 * The worker: see worker.rs. It arms itself again, as log calls can't wake it.
 * In a queue of its own it comes when it should, also on a busy machine; the
 * system's does, if there is no memory for one.
 */

static void blog_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(blog_delayed_work, blog_work_fn);
static struct workqueue_struct *blog_wq;

static void blog_queue_work(u32 ms)
{
	queue_delayed_work(blog_wq ?: system_dfl_wq, &blog_delayed_work,
			   msecs_to_jiffies(ms));
}

static void blog_work_fn(struct work_struct *work)
{
	blog_queue_work(blog_work());
}

void blog_start_worker(void)
{
	blog_wq = alloc_workqueue("blog", WQ_UNBOUND | WQ_HIGHPRI, 1);
	blog_queue_work(1);
}

void blog_stop_worker(void)
{
	cancel_delayed_work_sync(&blog_delayed_work);
	if (blog_wq)
		destroy_workqueue(blog_wq);
	blog_wq = NULL;
}

/* Text files: the kind is the file's aux number, the data its inode's. */

static int blog_text_seq_show(struct seq_file *m, void *unused)
{
	blog_text_show(m, debugfs_get_aux_num(m->file), m->private);
	return 0;
}

static int blog_text_open(struct inode *inode, struct file *file)
{
	return single_open(file, blog_text_seq_show, inode->i_private);
}

static ssize_t blog_text_file_write(struct file *file, const char __user *buf,
				    size_t count, loff_t *ppos)
{
	struct seq_file *m = file->private_data;
	char *text;
	int ret;

	if (!count || count > BLOG_WRITE_MAX)
		return -EINVAL;
	text = memdup_user_nul(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = blog_text_write(debugfs_get_aux_num(file), m->private, text, count);
	kfree(text);
	return ret ?: count;
}

static const struct file_operations blog_text_fops = {
	.owner = THIS_MODULE,
	.open = blog_text_open,
	.read = seq_read,
	.write = blog_text_file_write,
	.llseek = seq_lseek,
	.release = single_release,
};

void blog_create_text(const char *name, u16 mode, struct dentry *dir,
		      void *data, u32 kind)
{
	debugfs_create_file_aux_num(name, mode, dir, data, kind, &blog_text_fops);
}

/* Snapshot files: each open file has a cursor of its own. */

static int blog_snapshot_file_open(struct inode *inode, struct file *file)
{
	int ret = blog_snapshot_open(inode->i_private, &file->private_data);

	return ret ?: stream_open(inode, file);
}

static ssize_t blog_snapshot_file_read(struct file *file, char __user *buf,
				       size_t count, loff_t *ppos)
{
	return blog_snapshot_read(file->private_data, buf, count);
}

static int blog_snapshot_file_release(struct inode *inode, struct file *file)
{
	blog_snapshot_release(file->private_data);
	return 0;
}

static const struct file_operations blog_snapshot_fops = {
	.owner = THIS_MODULE,
	.open = blog_snapshot_file_open,
	.read = blog_snapshot_file_read,
	.release = blog_snapshot_file_release,
};

void blog_create_snapshot(const char *name, struct dentry *dir, void *data)
{
	debugfs_create_file(name, 0400, dir, data, &blog_snapshot_fops);
}

/*
 * Stream files. A log call wakes nobody, so while somebody waits, a work item
 * looks at the rings now and then, and wakes all who wait if there is anything
 * new. Who wakes up looks whether it is new to him. Nobody waits: no work.
 */

/* Often enough for data to be seen in 50 ms, on a busy machine too. */
#define BLOG_STREAM_TICK_MS	20

static DECLARE_WAIT_QUEUE_HEAD(blog_stream_wq);

static void blog_stream_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(blog_stream_ticker, blog_stream_work);

bool blog_signal_pending(void)
{
	return signal_pending(current);
}

void blog_wake_streams(void)
{
	wake_up_interruptible_poll(&blog_stream_wq, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

/*
 * Starts the work item if need be; returns whether it was. The caller is in the
 * wait queue already: either the work item finds him there and goes on, or it
 * has ended and is queued here.
 */
static bool blog_stream_arm(void)
{
	return queue_delayed_work(system_dfl_wq, &blog_stream_ticker,
				  msecs_to_jiffies(BLOG_STREAM_TICK_MS));
}

static void blog_stream_work(struct work_struct *work)
{
	u64 start = ktime_get_ns();
	unsigned long ms;

	if (blog_stream_tick())
		blog_wake_streams();
	/* With very many rings, a look takes long: no more than an eighth of a CPU. */
	ms = min(div_u64(ktime_get_ns() - start, NSEC_PER_MSEC / 8), MSEC_PER_SEC);
	if (wq_has_sleeper(&blog_stream_wq))
		queue_delayed_work(system_dfl_wq, &blog_stream_ticker,
				   msecs_to_jiffies(max(ms, BLOG_STREAM_TICK_MS)));
}

void blog_stop_streams(void)
{
	cancel_delayed_work_sync(&blog_stream_ticker);
}

static int blog_stream_file_open(struct inode *inode, struct file *file)
{
	int ret = blog_stream_open(inode->i_private, &file->private_data);

	return ret ?: stream_open(inode, file);
}

static ssize_t blog_stream_file_read(struct file *file, char __user *buf,
				     size_t count, loff_t *ppos)
{
	const bool now = file->f_flags & O_NONBLOCK;
	void *reader = file->private_data;
	ssize_t ret;

	for (;;) {
		ret = blog_stream_read(reader, buf, count, now);
		if (ret != -EAGAIN || now)
			return ret;
		ret = wait_event_interruptible(blog_stream_wq,
					       (blog_stream_arm(), blog_stream_news(reader)));
		if (ret)
			return ret;
	}
}

static __poll_t blog_stream_file_poll(struct file *file, poll_table *wait)
{
	poll_wait(file, &blog_stream_wq, wait);
	/* While the work item is at it, it knows best whether there is news. */
	switch (blog_stream_poll(file->private_data, blog_stream_arm())) {
	case 0:
		return 0;
	case 1:
		return EPOLLIN | EPOLLRDNORM;
	case 2:
		return EPOLLIN | EPOLLRDNORM | EPOLLHUP;
	default:
		return EPOLLERR;
	}
}

static int blog_stream_file_release(struct inode *inode, struct file *file)
{
	blog_stream_release(file->private_data);
	return 0;
}

static const struct file_operations blog_stream_fops = {
	.owner = THIS_MODULE,
	.open = blog_stream_file_open,
	.read = blog_stream_file_read,
	.poll = blog_stream_file_poll,
	.release = blog_stream_file_release,
};

/*
 * Without debugfs' own guard around each operation: removing the file would
 * wait for a reader that waits for data. Instead, an open file keeps what it
 * reads, and the module.
 */
void blog_create_stream(const char *name, struct dentry *dir, void *data)
{
	debugfs_create_file_unsafe(name, 0400, dir, data, &blog_stream_fops);
}
