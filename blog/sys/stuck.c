// SPDX-License-Identifier: GPL-2.0
/*
 * Notices when the kernel reports a task as stuck, and tells crash/stuck.rs.
 *
 * The detectors know nothing of BLog; tracepoints say what they do. Hung tasks
 * have one, in front of each report. Soft lockups have none, so their report is
 * recognised by its first line as it is printed: in a timer interrupt over the
 * task that is stuck. In there nothing more can be printed, but an interrupt of
 * our own comes as soon as that one is over, and so behind the report; if it
 * still finds the same task, that is named. Where the report ends in a panic it
 * never comes: the dump says more. So it does of hard lockups, which are found in
 * an NMI.
 *
 * Without CONFIG_TRACEPOINTS nothing is noticed.
 */

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "glue.h"

/* As many as the kernel makes of its own, without kernel.hung_task_warnings. */
static atomic_t blog_hung_lines = ATOMIC_INIT(10);

static void blog_hung(void *unused, struct task_struct *tsk)
{
	if (blog_task_has_rings(tsk) && atomic_dec_if_positive(&blog_hung_lines) >= 0)
		blog_task_stuck(tsk);
}

static DEFINE_PER_CPU(struct task_struct *, blog_locked_up);

static void blog_locked_up_fn(struct irq_work *work)
{
	if (current == __this_cpu_read(blog_locked_up) && blog_task_has_rings(current))
		blog_task_stuck(current);
}

static DEFINE_PER_CPU(struct irq_work, blog_locked_up_work) = IRQ_WORK_INIT_HARD(blog_locked_up_fn);

/* Each line of the kernel's log: any context, NMI included, interrupts off. */
static void blog_printed(void *unused, const char *text, size_t len)
{
	static const char lockup[] = "watchdog: BUG: soft lockup";

	if (len < sizeof(lockup) || memcmp(text, lockup, sizeof(lockup) - 1))
		return;
	__this_cpu_write(blog_locked_up, current);
	irq_work_queue(this_cpu_ptr(&blog_locked_up_work));
}

static struct tracepoint *blog_hang, *blog_console;

/* From now on blog_task_stuck() is called. */
void blog_start_detectors(void)
{
	blog_hang = blog_probe("sched_process_hang", blog_hung);
	blog_console = blog_probe("console", blog_printed);
}

/* Not any more; on return no call runs. */
void blog_stop_detectors(void)
{
	int cpu;

	blog_unprobe(blog_hang, blog_hung);
	blog_unprobe(blog_console, blog_printed);
	tracepoint_synchronize_unregister();
	for_each_possible_cpu(cpu)
		irq_work_sync(per_cpu_ptr(&blog_locked_up_work, cpu));
}
