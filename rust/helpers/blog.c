// SPDX-License-Identifier: GPL-2.0
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>

/*
 * For rust/kernel/blog/call/arch/generic.rs: they read the context of the caller.
 * What a log call may reach is not traced: a tracer may log.
 */
/* The current task in task context, else NULL. */
__rust_helper notrace struct task_struct *rust_helper_blog_task(void)
{
	return interrupt_context_level() ? NULL : current;
}

/* CPU * 4 + (0 softirq, 1 hardirq, 2 NMI); for interrupt contexts only. */
__rust_helper notrace u32 rust_helper_blog_interrupt(void)
{
	return raw_smp_processor_id() * 4 + interrupt_context_level() - 1;
}
