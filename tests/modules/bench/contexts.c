// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a batch where it is to be measured: in a task, a softirq, a hard
 * interrupt, in tasks that have never logged, or on several CPUs at once.
 * Interrupts are off during a batch, so what is counted is the batch alone.
 */

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/slab.h>

#include "../testmod.h"
#include "bench.h"

static u64 timed(void (*run)(u32 n), u32 n)
{
	unsigned long flags;
	u64 start, ticks;

	local_irq_save(flags);
	start = bench_ticks();
	run(n);
	ticks = bench_ticks() - start;
	local_irq_restore(flags);
	return ticks;
}

/* One batch at a time. */
static struct {
	void (*run)(u32 n);
	u32 n;
	u64 ticks;
	struct completion done;
} batch;

static void run_batch(void)
{
	batch.ticks = timed(batch.run, batch.n);
	complete(&batch.done);
}

static void in_softirq_now(struct tasklet_struct *unused)
{
	run_batch();
}

static DECLARE_TASKLET(softirq, in_softirq_now);

static enum hrtimer_restart in_hardirq_now(struct hrtimer *unused)
{
	run_batch();
	return HRTIMER_NORESTART;
}

static struct hrtimer hardirq;

/* Returns the ticks that run(n) took in that context. */
u64 bench_batch(enum bench_context context, void (*run)(u32 n), u32 n)
{
	if (context == BENCH_TASK)
		return timed(run, n);
	batch.run = run;
	batch.n = n;
	reinit_completion(&batch.done);
	if (context == BENCH_SOFTIRQ)
		tasklet_schedule(&softirq);
	else
		hrtimer_start(&hardirq, 1000, HRTIMER_MODE_REL_HARD);
	wait_for_completion(&batch.done);
	return batch.ticks;
}

/* The first two records of a task: the first one finds it without a ring. */
struct newcomer {
	u32 *ticks;
	struct completion done;
};

static int new_task(void *data)
{
	struct newcomer *me = data;
	unsigned long flags;
	u64 start;
	u32 i;

	local_irq_save(flags);
	for (i = 0; i < 2; i++) {
		start = bench_ticks();
		bench_blog_once(i);
		me->ticks[i] = bench_ticks() - start;
	}
	local_irq_restore(flags);
	kthread_complete_and_exit(&me->done, 0);
}

int bench_new_tasks(u32 (*ticks)[2], u32 count)
{
	for (u32 i = 0; i < count; i++) {
		struct newcomer newcomer = { .ticks = ticks[i] };
		int ret;

		init_completion(&newcomer.done);
		ret = test_start(NULL, -1, new_task, &newcomer, "bench_new/%u", i);
		if (ret)
			return ret;
		wait_for_completion(&newcomer.done);
	}
	return 0;
}

/* Several CPUs at once: each says when it is there, and all start together. */
#define PATIENCE 4000000

struct runner {
	void (*run)(u32 n);
	u32 n;
	u64 start, end;
	atomic_t *missing, *waiting;
	struct completion done;
};

static int run_together(void *data)
{
	struct runner *me = data;
	unsigned long flags;

	/* Warm, and with a ring. */
	me->run(me->n / 4 + 1);
	atomic_dec(me->missing);
	/* Whoever is still missing may need this CPU to start. */
	while (atomic_read(me->missing) > 0)
		cond_resched();
	local_irq_save(flags);
	/* All of them are there, so this won't last, unless another CPU waits for this one. */
	atomic_dec(me->waiting);
	for (u32 i = 0; atomic_read(me->waiting) > 0 && i < PATIENCE; i++)
		cpu_relax();
	me->start = bench_ticks();
	me->run(me->n);
	me->end = bench_ticks();
	local_irq_restore(flags);
	kthread_complete_and_exit(&me->done, 0);
}

/* Returns the ticks from the first one's start to the last one's end. */
int bench_together(void (*run)(u32 n), u32 n, u32 cpus, u64 *ticks)
{
	u64 start = U64_MAX, end = 0;
	struct runner *runners;
	atomic_t missing, waiting;
	u32 i, made = 0;
	int cpu, ret = 0;

	if (!cpus || cpus > num_online_cpus())
		return -EINVAL;
	runners = kcalloc(cpus, sizeof(*runners), GFP_KERNEL);
	if (!runners)
		return -ENOMEM;
	atomic_set(&missing, cpus);
	atomic_set(&waiting, cpus);
	for_each_online_cpu(cpu) {
		struct runner *runner = &runners[made];

		*runner = (struct runner){
			.run = run,
			.n = n,
			.missing = &missing,
			.waiting = &waiting,
		};
		init_completion(&runner->done);
		ret = test_start(NULL, cpu, run_together, runner, "bench/%d", cpu);
		if (ret || ++made == cpus)
			break;
	}
	/* Nobody waits for those who could not be made. */
	atomic_sub(cpus - made, &waiting);
	atomic_sub(cpus - made, &missing);
	for (i = 0; i < made; i++) {
		wait_for_completion(&runners[i].done);
		start = min(start, runners[i].start);
		end = max(end, runners[i].end);
	}
	*ticks = end - start;
	kfree(runners);
	return ret;
}

void bench_contexts_init(void)
{
	init_completion(&batch.done);
	hrtimer_setup(&hardirq, in_hardirq_now, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
}

void bench_contexts_exit(void)
{
	hrtimer_cancel(&hardirq);
	tasklet_kill(&softirq);
}
