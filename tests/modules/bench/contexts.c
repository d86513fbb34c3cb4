// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a batch where it is to be measured: in a task, a softirq, a hard
 * interrupt, in tasks that have never logged, or in many tasks by turns.
 * Interrupts are off during a batch, but for that of many tasks, so what is
 * counted is the batch alone.
 */

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/vmalloc.h>

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

/* Tasks that wake each other in a circle, each for one turn. */
struct taker {
	struct completion go, gone;
	struct taker *next;
};

static struct {
	void (*run)(u32 n);
	u32 left;
	struct completion done;
} turns;

static int take_turns(void *data)
{
	struct taker *me = data;

	for (;;) {
		wait_for_completion(&me->go);
		if (!turns.run)
			kthread_complete_and_exit(&me->gone, 0);
		turns.run(1);
		complete(--turns.left ? &me->next->go : &turns.done);
	}
}

/* Makes a circle of so many tasks. */
struct taker *bench_make_takers(u32 count)
{
	struct taker *takers = vcalloc(count, sizeof(*takers));

	for (u32 i = 0; takers && i < count; i++) {
		init_completion(&takers[i].go);
		init_completion(&takers[i].gone);
		takers[i].next = &takers[(i + 1) % count];
		if (test_start(NULL, -1, take_turns, &takers[i], "bench_turn/%u", i)) {
			bench_end_takers(takers, i);
			return NULL;
		}
	}
	return takers;
}

void bench_end_takers(struct taker *takers, u32 count)
{
	turns.run = NULL;
	for (u32 i = 0; i < count; i++) {
		complete(&takers[i].go);
		wait_for_completion(&takers[i].gone);
	}
	vfree(takers);
}

/* Returns the ticks that n turns took. */
u64 bench_turns(struct taker *takers, void (*run)(u32 n), u32 n)
{
	u64 start;

	turns.run = run;
	turns.left = n;
	init_completion(&turns.done);
	start = bench_ticks();
	complete(&takers->go);
	wait_for_completion(&turns.done);
	return bench_ticks() - start;
}

void bench_contexts_init(void)
{
	init_completion(&batch.done);
#ifdef BENCH_NO_HRTIMER_SETUP
	hrtimer_init(&hardirq, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hardirq.function = in_hardirq_now;
#else
	hrtimer_setup(&hardirq, in_hardirq_now, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#endif
}

void bench_contexts_exit(void)
{
	hrtimer_cancel(&hardirq);
	tasklet_kill(&softirq);
}
