// SPDX-License-Identifier: GPL-2.0
/*
 * The C side of BLog's module: what Rust has no abstraction for.
 *
 * Exports for drivers, the module notifier, module parameters, the lock of the
 * task tables, who waits for streams, and one-line wrappers of macros and
 * inline functions. main.rs and its modules call what
 * is here and implement the prototypes under "In Rust" of glue.h. There is no
 * policy and no state here, and what a logging path may call (marked notrace)
 * neither locks nor sleeps nor allocates.
 */

#include <linux/atomic.h>
#include <linux/blog.h>
#include <linux/cpumask.h>
#include <linux/crc32.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/security.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "glue.h"

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
MODULE_PARM_DESC(max_kb, "Limit for all that BLog takes in KiB (default 0: an eighth of memory)");

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
void blog_clock_pair(struct blog_clock_pair *pair, bool tsc)
{
	u64 best = U64_MAX;
	int i;

	for (i = 0; i < 5; i++) {
		u64 before, mono, real, boot, after;
		unsigned long flags;

		local_irq_save(flags);
		before = tsc ? blog_clock_tsc() : blog_clock_mono();
		mono = ktime_get_ns();
		real = ktime_get_real_ns();
		boot = ktime_get_boottime_ns();
		after = tsc ? blog_clock_tsc() : blog_clock_mono();
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
/* Has lockdep think that memory is freed from here on, to make room. */
void blog_pretend_reclaim(bool begin)
{
	if (begin)
		fs_reclaim_acquire(GFP_KERNEL);
	else
		fs_reclaim_release(GFP_KERNEL);
}

/* What state_letter() of rust/kernel/blog/wire/dump.rs is to say. */
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

#ifndef MODULE
/* Before the initcalls of all drivers, which are linked behind blog/. */
early_initcall(blog_start);
#endif

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

bool blog_is_within(const struct module *mod, const void *p)
{
	return within_module((unsigned long)p, mod);
}

#ifdef CONFIG_MODULES
/*
 * A table of a module that is coming: its bounds are symbols, as those of code
 * tags are (lib/codetag.c). Each crate in the module has two of its own, around
 * its part of the table (rust/macros/blog/asm.rs). Returns the table's size.
 */
static unsigned long blog_table(const struct module *mod, const char *first,
				const char *end, unsigned long *table)
{
	const struct mod_kallsyms *syms;
	unsigned long last = 0;
	unsigned int i;

	*table = 0;
	guard(rcu)();
	syms = rcu_dereference(mod->kallsyms);
	for (i = 0; i < syms->num_symtab; i++) {
		unsigned long value = syms->symtab[i].st_value;
		const char *name = syms->strtab + syms->symtab[i].st_name;

		if (!strcmp(name, first))
			*table = min_not_zero(*table, value);
		else if (!strcmp(name, end))
			last = max(last, value);
	}
	return *table < last ? last - *table : 0;
}

static int blog_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	unsigned long sites, sites_size, comps, comps_size;
	struct module *mod = data;

	switch (event) {
	case MODULE_STATE_COMING:
		sites_size = blog_table(mod, "__blog_sites", "__blog_sites_end", &sites);
		comps_size = blog_table(mod, "__blog_components", "__blog_components_end",
					&comps);
		if (sites_size || comps_size)
			blog_module_coming(mod->name, mod->build_id, (void *)sites,
					   sites_size / sizeof(struct blog_site), (void *)comps,
					   comps_size / sizeof(struct blog_component *));
		break;
	case MODULE_STATE_GOING:
		blog_module_going(mod);
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
 * The worker: see worker.rs. It says itself when it is to come again. If that is
 * never, a log call has it come: by interrupting its own CPU, in any context.
 */

static void blog_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(blog_delayed_work, blog_work_fn);

static void blog_work_fn(struct work_struct *work)
{
	u32 ms = blog_work();

	if (ms)
		queue_delayed_work(system_dfl_wq, &blog_delayed_work,
				   msecs_to_jiffies(ms));
}

static void blog_irq_work_fn(struct irq_work *work)
{
	queue_delayed_work(system_dfl_wq, &blog_delayed_work, 0);
}

static DEFINE_IRQ_WORK(blog_irq_work, blog_irq_work_fn);

notrace void blog_queue_worker(void)
{
	irq_work_queue(&blog_irq_work);
}

void blog_stop_worker(void)
{
	irq_work_sync(&blog_irq_work);
	cancel_delayed_work_sync(&blog_delayed_work);
}

/* Not so from when a CPU is taken down until it is back. */
notrace bool blog_cpu_online(void)
{
	return cpu_online(raw_smp_processor_id());
}

/* Frees what rings have given up, after a grace period: see page.rs. */

static void blog_reap_fn(struct work_struct *work)
{
	blog_reap();
}

static DECLARE_WORK(blog_reap_work, blog_reap_fn);

void blog_queue_reap(void)
{
	queue_work(system_dfl_wq, &blog_reap_work);
}

void blog_flush_reap(void)
{
	flush_work(&blog_reap_work);
}

/*
 * Who opens a file: an error, or whether he may see kernel addresses, too. Under
 * lockdown as for tracefs: at confidentiality, nothing is opened. (What debugfs
 * refuses from integrity on, it refuses by itself.)
 */
int blog_may_open(const struct file *file)
{
	int ret = security_locked_down(LOCKDOWN_TRACEFS);

	return ret ?: blog_may_see_addresses(file);
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

/* Waits until a count isn't what it was; -ERESTARTSYS if a signal comes first. */
int blog_stream_wait(const u64 *count, u64 old)
{
	return wait_event_interruptible(blog_stream_wq,
					(blog_stream_arm(), READ_ONCE(*count) != old));
}

/* While the work item is at it, it knows best whether there is news: see there. */
bool blog_stream_poll_wait(struct file *file, struct poll_table_struct *wait)
{
	poll_wait(file, &blog_stream_wq, wait);
	return blog_stream_arm();
}
