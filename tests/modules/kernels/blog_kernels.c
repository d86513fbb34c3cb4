// SPDX-License-Identifier: GPL-2.0
/*
 * Logs in tasks and interrupts of all kinds, on kernels as distributions have them; then waits in
 * a deadlock, and panics, as the test says:
 *
 *	modprobe blog_kernels
 *	echo log > /sys/module/blog_kernels/parameters/step
 *
 * Each record says in which context it was logged, and its number there. How many there are, the
 * module says in its parameters. Never load this into a kernel that you need.
 */

#include <linux/blog.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timer.h>

#include "../testmod.h"

/* Memory for all that one step logs: nothing is overwritten. */
BLOG_COMPONENT(kernels, .size_kb = 8192, .ring_kb = 64, .level = BLOG_DEBUG);

TEST_PARAM(tasks, 50, 0644, "threads that log at a time");
TEST_PARAM(each, 200, 0644, "records of each thread");
TEST_PARAM(logged, 0, 0444, "records that all contexts have logged so far");
TEST_PARAM(interrupts, 20, 0644, "of each kind, for each CPU");

static atomic_t logged, running;

/* --- interrupts ------------------------------------------------------------------------- */

struct kernels_cpu {
	struct timer_list timer;
	struct irq_work work;
	unsigned int softirqs, hardirqs, calls;
};

static DEFINE_PER_CPU(struct kernels_cpu, kernels_cpus);

static void kernels_irq_work(struct irq_work *work)
{
	struct kernels_cpu *c = container_of(work, struct kernels_cpu, work);

	atomic_inc(&logged);
	blog_log(kernels, "hardirq %d: irq_work %u", smp_processor_id(), c->hardirqs);
	if (++c->hardirqs == param_interrupts)
		atomic_dec(&running);
}

static void kernels_timer(struct timer_list *timer)
{
	struct kernels_cpu *c = container_of(timer, struct kernels_cpu, timer);

	atomic_inc(&logged);
	blog_log(kernels, "softirq %d: timer %u", smp_processor_id(), c->softirqs);
	irq_work_queue(&c->work);
	if (++c->softirqs < param_interrupts)
		mod_timer(timer, jiffies + 1);
	else
		atomic_dec(&running);
}

static void kernels_call(void *unused)
{
	struct kernels_cpu *c = this_cpu_ptr(&kernels_cpus);

	/* An idle CPU that polls calls it without an interrupt. */
	if (!in_hardirq())
		return;
	atomic_inc(&logged);
	blog_warn(kernels, "hardirq %d: call %u of %s", smp_processor_id(), c->calls,
		  "another CPU");
	c->calls++;
}

/* Starts the timers of this CPU, in its interrupt. */
static void kernels_start(void *unused)
{
	struct kernels_cpu *c = this_cpu_ptr(&kernels_cpus);

	c->softirqs = 0;
	c->hardirqs = 0;
	c->calls = 0;
	timer_setup(&c->timer, kernels_timer, TIMER_PINNED);
	c->work = IRQ_WORK_INIT_HARD(kernels_irq_work);
	mod_timer(&c->timer, jiffies + 1);
}

/* --- tasks ------------------------------------------------------------------------------- */

static int kernels_task(void *number)
{
	unsigned long n = (unsigned long)number;
	unsigned int i;

	for (i = 0; i < param_each; i++) {
		atomic_inc(&logged);
		blog_debug(kernels, "task %lu: record %u of %s, %#llx at %pS", n, i, current->comm,
			   (u64)i << 33 | n, kernels_task);
		if (i % 64 == 63)
			usleep_range(1000, 2000);
	}
	atomic_dec(&running);
	return 0;
}

/* Returns when all have logged. */
static int kernels_log(void)
{
	unsigned int i;
	int ret;

	atomic_add(2 * num_online_cpus(), &running);
	on_each_cpu(kernels_start, NULL, 1);
	for (i = 0; i < param_tasks; i++) {
		atomic_inc(&running);
		ret = test_start(NULL, -1, kernels_task, (void *)(unsigned long)i, "kernels/%u", i);
		if (ret)
			return ret;
	}
	for (i = 0; i < param_interrupts; i++) {
		smp_call_function(kernels_call, NULL, 1);
		usleep_range(1000, 2000);
	}
	while (atomic_read(&running))
		msleep(20);
	param_logged = atomic_read(&logged);
	return 0;
}

/* --- a deadlock, and the end ------------------------------------------------------------------ */

static DEFINE_MUTEX(kernels_a);
static DEFINE_MUTEX(kernels_b);
static DECLARE_COMPLETION(kernels_a_held);
static DECLARE_COMPLETION(kernels_b_held);

static int kernels_ab(void *unused)
{
	mutex_lock(&kernels_a);
	complete(&kernels_a_held);
	wait_for_completion(&kernels_b_held);
	blog_log(kernels, "has lock %c, takes lock %c", 'A', 'B');
	mutex_lock(&kernels_b);
	return 0;
}

static int kernels_ba(void *unused)
{
	mutex_lock(&kernels_b);
	complete(&kernels_b_held);
	wait_for_completion(&kernels_a_held);
	blog_log(kernels, "has lock %c, takes lock %c", 'B', 'A');
	mutex_lock(&kernels_a);
	return 0;
}

static int kernels_deadlock(void)
{
	return test_start(NULL, -1, kernels_ab, NULL, "kernels/ab") ?:
		       test_start(NULL, -1, kernels_ba, NULL, "kernels/ba");
}

/* A thread with a history. Last words have no argument that may be an address: so no %pe. */
static int kernels_panic(void *unused)
{
	unsigned int i;

	for (i = 0; i < param_each; i++) {
		blog_log(kernels, "%s works: %u", current->comm, i);
		usleep_range(5000, 10000);
	}
	blog_err(kernels, "%s panics: error %d", current->comm, -EIO);
	panic("blog_kernels");
}

static int kernels_step(const char *value, const struct kernel_param *kp)
{
	if (sysfs_streq(value, "log"))
		return kernels_log();
	if (sysfs_streq(value, "deadlock"))
		return kernels_deadlock();
	if (sysfs_streq(value, "panic"))
		return test_start(NULL, -1, kernels_panic, NULL, "kernels/end");
	return -EINVAL;
}

static const struct kernel_param_ops kernels_step_ops = { .set = kernels_step };

/* Not on the command line: it takes threads. */
module_param_cb(step, &kernels_step_ops, NULL, 0200);
MODULE_PARM_DESC(step, "log, deadlock or panic");

static int __init kernels_init(void)
{
	return 0;
}
module_init(kernels_init);

static void __exit kernels_exit(void)
{
}
module_exit(kernels_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Log calls in all contexts, for tests of BLog");
