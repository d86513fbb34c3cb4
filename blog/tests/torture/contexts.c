// SPDX-License-Identifier: GPL-2.0
/*
 * Log calls from interrupts of all kinds: timers and tasklets (softirq),
 * hrtimers, irq_work and calls from other CPUs (hard interrupt), NMIs; and from
 * the callbacks of CPUs that go down or come up.
 *
 * Each CPU has one of each, and each is a writer of its own. None of them can
 * interrupt itself, so a writer's records are made one after the other. They
 * start when their CPU comes up, and have ended when it goes down. To look whether
 * a timer is active, which may just be running elsewhere, and then to start it,
 * would race with that timer's own start of itself, and break the list it is in.
 */

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <trace/events/printk.h>

#include "blog_torture.h"

struct torture_cpu {
	struct timer_list timer;
	struct tasklet_struct tasklet;
	struct hrtimer hrtimer;
	struct irq_work work;
	u64 random[TORTURE_WORKER];
	unsigned int cpu;
};

static DEFINE_PER_CPU(struct torture_cpu, torture_cpus);
static struct task_struct *torture_caller;
static atomic64_t torture_nmis_in_blog;
static int torture_cpuhp;

u64 torture_nmi_in_blog(void)
{
	return atomic64_read(&torture_nmis_in_blog);
}

/* A few records to any component. */
static void torture_log_some(enum torture_kind kind, unsigned int cpu)
{
	struct torture_cpu *c = per_cpu_ptr(&torture_cpus, cpu);
	u32 r = torture_random(&c->random[kind]);
	u32 to = r % (TORTURE_TO_FAST + param_instances);

	if (to >= TORTURE_TO_FAST)
		to += TORTURE_TO_INSTANCE - TORTURE_TO_FAST;
	blog_torture_log(to, torture_cpu_writer(kind, cpu), 1 + (r >> 16) % 4);
}

static void torture_timer(struct timer_list *timer)
{
	struct torture_cpu *c = timer_container_of(c, timer, timer);

	torture_log_some(TORTURE_TIMER, c->cpu);
	tasklet_schedule(&c->tasklet);
	if (torture_state() == TORTURE_RUNNING)
		mod_timer(timer, jiffies + 1);
}

static void torture_tasklet(struct tasklet_struct *tasklet)
{
	struct torture_cpu *c = container_of(tasklet, struct torture_cpu, tasklet);

	torture_log_some(TORTURE_TASKLET, c->cpu);
}

static enum hrtimer_restart torture_hrtimer(struct hrtimer *hrtimer)
{
	struct torture_cpu *c = container_of(hrtimer, struct torture_cpu, hrtimer);
	u32 r = torture_random(&c->random[TORTURE_WORKER - 1]);

	torture_log_some(TORTURE_HRTIMER, c->cpu);
	irq_work_queue(&c->work);
	if (torture_state() != TORTURE_RUNNING)
		return HRTIMER_NORESTART;
	/* Never in step with anything else. */
	hrtimer_forward_now(hrtimer, us_to_ktime(param_irq_us / 2 + r % param_irq_us));
	return HRTIMER_RESTART;
}

static void torture_irqwork(struct irq_work *work)
{
	struct torture_cpu *c = container_of(work, struct torture_cpu, work);

	torture_log_some(TORTURE_IRQWORK, c->cpu);
}

static void torture_call(void *unused)
{
	torture_log_some(TORTURE_IPI, smp_processor_id());
}

static int torture_call_all(void *unused)
{
	while (!kthread_should_stop()) {
		preempt_disable();
		smp_call_function(torture_call, NULL, 1);
		preempt_enable();
		usleep_range(param_ipi_us, 2 * param_ipi_us);
	}
	return 0;
}

#ifdef TEST_HAS_NMI
/* Logs in each NMI, whatever it is for. */
static int torture_nmi(unsigned int cmd, struct pt_regs *regs)
{
	/* The fast path is compiled here. Built in, it has no bounds of its own. */
	if (THIS_MODULE && !user_mode(regs) && within_module(regs->ip, THIS_MODULE))
		atomic64_inc(&torture_nmis_in_blog);
	if (!torture_in_probe())
		torture_log_some(TORTURE_NMI, smp_processor_id());
	return NMI_DONE;
}

/* NMIs that nobody knows are those that the test's runner injects. */
static int torture_nmi_unknown(unsigned int cmd, struct pt_regs *regs)
{
	return NMI_HANDLED;
}

static int torture_nmi_start(void)
{
	return register_nmi_handler(NMI_LOCAL, torture_nmi, 0, "blog_torture") ?:
		       register_nmi_handler(NMI_UNKNOWN, torture_nmi_unknown, 0, "blog_torture");
}

static void torture_nmi_stop(void)
{
	unregister_nmi_handler(NMI_LOCAL, "blog_torture");
	unregister_nmi_handler(NMI_UNKNOWN, "blog_torture");
}
#elif defined(CONFIG_ARM64_PSEUDO_NMI)
/*
 * Nobody may have an NMI of their own here. But in the one by which another CPU asks for a stack
 * trace (sysrq-l), this is called for each line that is printed.
 */
static void torture_printed(void *unused, const char *text, size_t len)
{
	if (in_nmi() && !torture_in_probe())
		torture_log_some(TORTURE_NMI, smp_processor_id());
}

static int torture_nmi_start(void)
{
	return register_trace_console(torture_printed, NULL);
}

static void torture_nmi_stop(void)
{
	unregister_trace_console(torture_printed, NULL);
	tracepoint_synchronize_unregister();
}
#else
static int torture_nmi_start(void)
{
	return 0;
}

static void torture_nmi_stop(void)
{
}
#endif

/* On the CPU, in its hotplug thread. */
static int torture_cpu_up(unsigned int cpu)
{
	struct torture_cpu *c = per_cpu_ptr(&torture_cpus, cpu);

	torture_log_some(TORTURE_HOTPLUG, cpu);
	if (param_irq_us && torture_state() == TORTURE_RUNNING) {
		mod_timer(&c->timer, jiffies + 1);
		hrtimer_start(&c->hrtimer, us_to_ktime(param_irq_us), HRTIMER_MODE_REL_PINNED_HARD);
	}
	return 0;
}

/* Each of them may have started the next one once more, so in this order. */
static int torture_cpu_down(unsigned int cpu)
{
	struct torture_cpu *c = per_cpu_ptr(&torture_cpus, cpu);

	torture_log_some(TORTURE_HOTPLUG, cpu);
	timer_delete_sync(&c->timer);
	tasklet_kill(&c->tasklet);
	hrtimer_cancel(&c->hrtimer);
	irq_work_sync(&c->work);
	return 0;
}

int torture_contexts_start(void)
{
	unsigned int cpu;
	int ret, kind;

	for_each_possible_cpu(cpu) {
		struct torture_cpu *c = per_cpu_ptr(&torture_cpus, cpu);

		c->cpu = cpu;
		for (kind = 0; kind < TORTURE_WORKER; kind++)
			c->random[kind] = torture_seed(torture_cpu_writer(kind, cpu));
		timer_setup(&c->timer, torture_timer, TIMER_PINNED);
		tasklet_setup(&c->tasklet, torture_tasklet);
		hrtimer_setup(&c->hrtimer, torture_hrtimer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
		c->work = IRQ_WORK_INIT_HARD(torture_irqwork);
	}
	/* Calls torture_cpu_up() on all CPUs that are there; its end, torture_cpu_down(). */
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "blog/torture:online", torture_cpu_up,
				torture_cpu_down);
	if (ret < 0)
		return ret;
	torture_cpuhp = ret;
	ret = torture_nmi_start();
	if (ret)
		return ret;
	if (param_ipi_us && num_possible_cpus() > 1)
		ret = test_start(&torture_caller, -1, torture_call_all, NULL, "blog_ipi");
	return ret;
}

void torture_contexts_stop(void)
{
	test_stop(&torture_caller);
	torture_nmi_stop();
	if (torture_cpuhp)
		cpuhp_remove_state(torture_cpuhp);
	torture_cpuhp = 0;
}
