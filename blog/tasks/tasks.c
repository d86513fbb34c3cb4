// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks: which one runs where, for log calls, and the locks of their tables.
 *
 * Functions that a log call may reach are not traced, as a tracer may log.
 */

#include <linux/array_size.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>

#include "tasks.h"

/*
 * Where the caller runs: context (0 task, 1 softirq, 2 hardirq, 3 NMI) in the low byte, CPU above.
 * In a task, the CPU may be another one already.
 *
 * By the same bits as the fast path. With PREEMPT_RT, softirqs are not among them: they run in
 * tasks there, may be preempted by other softirqs on their CPU, and so log to their tasks' rings.
 */
notrace u32 blog_context(void)
{
	return interrupt_context_level() | raw_smp_processor_id() << 8;
}

/* Unlike the helper that Rust has, this one can't be traced. */
notrace struct task_struct *blog_current(void)
{
	return current;
}

static_assert(sizeof_field(struct task_struct, comm) == 2 * sizeof(u64) &&
	      offsetof(struct task_struct, comm) % sizeof(u64) == 0);

/* What a task is doing. It may do something else by now, and its name be half another one. */
notrace void blog_task_facts(const struct task_struct *task, struct blog_task_facts *facts)
{
	const u64 *comm = (const u64 *)task->comm;

	*facts = (struct blog_task_facts){
		.start_time = task->start_time,
		.self_exec_id = task->self_exec_id,
		.comm = { READ_ONCE(comm[0]), READ_ONCE(comm[1]) },
		.pid = task->pid,
		.tgid = task->tgid,
		.state = READ_ONCE(task->__state),
		.exit_state = READ_ONCE(task->exit_state),
		.is_kernel = !!(READ_ONCE(task->flags) & PF_KTHREAD),
		.on_cpu = READ_ONCE(task->on_cpu),
		.cpu = task_cpu(task),
	};
}

/* Without SMP they have no size, so that it says nothing of their number. */
#define BLOG_TLS_LOCKS 64

/* The locks of task tables: see write/tables.rs. Tables of a group share one. */
static struct {
	raw_spinlock_t lock;
} ____cacheline_aligned_in_smp blog_tls_locks[BLOG_TLS_LOCKS] = {
	[0 ... BLOG_TLS_LOCKS - 1] = {
		.lock = __RAW_SPIN_LOCK_UNLOCKED(blog_tls_locks.lock),
	},
};

static raw_spinlock_t *blog_tls_lock_of(u32 group)
{
	return &blog_tls_locks[group % BLOG_TLS_LOCKS].lock;
}

unsigned long blog_tls_lock(u32 group)
{
	unsigned long flags;

	raw_spin_lock_irqsave(blog_tls_lock_of(group), flags);
	return flags;
}

void blog_tls_unlock(u32 group, unsigned long flags)
{
	raw_spin_unlock_irqrestore(blog_tls_lock_of(group), flags);
}

/* Waits until those that are held now have been given up. */
void blog_tls_sync(void)
{
	for (u32 i = 0; i < BLOG_TLS_LOCKS; i++)
		blog_tls_unlock(i, blog_tls_lock(i));
}
