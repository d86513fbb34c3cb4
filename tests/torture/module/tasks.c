// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that log: workers that live as long as the run, storms of tasks that
 * log a little and end, a crowd that logs a little and stays; and tasks that
 * disturb them: one that drops components and makes new ones, one that takes
 * CPUs away and brings them back.
 */

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "blog_torture.h"

/* Short-lived tasks at a time, for each task that starts them. */
#define TORTURE_STORM_LIVE	64
/* Most records of a short-lived task. */
#define TORTURE_STORM_RECORDS	20

struct torture_spark {
	struct completion done;
	u32 writer;
	u32 random;
};

struct torture_storm {
	struct task_struct *task;
	struct torture_spark sparks[TORTURE_STORM_LIVE];
	u32 number;
};

static struct task_struct **torture_workers;
static struct torture_storm *torture_storms;
static struct task_struct **torture_crowd;
static struct task_struct *torture_historian, *torture_renewer, *torture_switcher;
static u32 torture_worker_count;
static atomic_t torture_crowd_done;
static atomic64_t torture_sparks;
static u64 torture_renewed, torture_switched;

u64 torture_storm_tasks(void)
{
	return atomic64_read(&torture_sparks);
}

u64 torture_renewals(void)
{
	return READ_ONCE(torture_renewed);
}

u64 torture_onoffs(void)
{
	return READ_ONCE(torture_switched);
}

u32 torture_crowd_ready(void)
{
	return atomic_read(&torture_crowd_done);
}

/* Sleeps until it is woken to stop, or the time is over. */
static void torture_nap(unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (!kthread_should_stop() && time_before(jiffies, end))
		schedule_timeout_interruptible(min(end - jiffies, (unsigned long)HZ / 20 + 1));
}

/* Workers. */

static int torture_work(void *data)
{
	u32 writer = (long)data;
	u64 random = ((u64)blog_torture_seed << 32) + writer;

	torture_writer_is_me(writer);
	while (!kthread_should_stop()) {
		u32 r = torture_random(&random);
		u32 to = r % (4 + blog_torture_instances);

		/* Those in the middle have writers of their own. */
		if (to >= TORTURE_TO_STORM)
			to += TORTURE_TO_INSTANCE - TORTURE_TO_STORM;
		if (to == TORTURE_TO_FAST) {
			blog_torture_fast(writer);
		} else {
			r = torture_random(&random);
			blog_torture_log(to, writer, 1 + r % blog_torture_burst);
		}
		if (blog_torture_pause_us)
			usleep_range(blog_torture_pause_us, 2 * blog_torture_pause_us);
		else
			/* Dropped instances wait for tasks that don't sleep. */
			cond_resched_tasks_rcu_qs();
	}
	return 0;
}

static int torture_workers_start(void)
{
	u32 n = blog_torture_workers * num_online_cpus();
	u32 i;

	if (!n)
		return 0;
	torture_workers = vcalloc(n, sizeof(*torture_workers));
	if (!torture_workers)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		int writer = torture_task_writer(TORTURE_WORKER);
		struct task_struct *task;

		if (writer < 0)
			return writer;
		task = kthread_run(torture_work, (void *)(long)writer, "blog_work/%u", i);
		if (IS_ERR(task))
			return PTR_ERR(task);
		torture_workers[torture_worker_count++] = task;
	}
	return 0;
}

/* The slow writer: its ring turns rarely, so a reader can keep up. */

static int torture_write_history(void *data)
{
	u32 writer = (long)data;

	torture_writer_is_me(writer);
	while (!kthread_should_stop()) {
		blog_torture_log(TORTURE_TO_HISTORY, writer, 1);
		usleep_range(blog_torture_history_us, blog_torture_history_us + 100);
	}
	return 0;
}

/* Storms. */

static int torture_spark(void *data)
{
	struct torture_spark *spark = data;
	u64 random = spark->random;
	u32 n = 1 + torture_random(&random) % TORTURE_STORM_RECORDS;
	u32 half = torture_random(&random) % (n + 1);

	torture_writer_is_me(spark->writer);
	blog_torture_log(TORTURE_TO_STORM, spark->writer, half);
	/* Some are seen alive, some are gone before anybody looks. */
	if (torture_random(&random) % 4 == 0)
		schedule_timeout_uninterruptible(1 + torture_random(&random) % 3);
	blog_torture_log(TORTURE_TO_STORM, spark->writer, n - half);
	atomic64_inc(&torture_sparks);
	/* No code of this module runs after the completion. */
	kthread_complete_and_exit(&spark->done, 0);
}

static int torture_blow(void *data)
{
	struct torture_storm *storm = data;
	u64 random = ((u64)blog_torture_seed << 32) + ~storm->number;
	u32 i = 0;

	while (!kthread_should_stop()) {
		struct torture_spark *spark = &storm->sparks[i];
		struct task_struct *task;
		int writer;

		i = (i + 1) % TORTURE_STORM_LIVE;
		wait_for_completion(&spark->done);
		writer = torture_task_writer(TORTURE_STORM);
		if (writer < 0) {
			/* All numbers are used up: the storm is over. */
			complete(&spark->done);
			schedule_timeout_interruptible(HZ / 10);
			continue;
		}
		spark->writer = writer;
		spark->random = torture_random(&random);
		task = kthread_run(torture_spark, spark, "blog_spark/%u", writer);
		if (IS_ERR(task)) {
			torture_error("no short-lived task: %ld", PTR_ERR(task));
			complete(&spark->done);
			schedule_timeout_interruptible(HZ / 10);
		}
	}
	for (i = 0; i < TORTURE_STORM_LIVE; i++)
		wait_for_completion(&storm->sparks[i].done);
	return 0;
}

static int torture_storms_start(void)
{
	u32 i, j;

	if (!blog_torture_storm)
		return 0;
	torture_storms = vcalloc(blog_torture_storm, sizeof(*torture_storms));
	if (!torture_storms)
		return -ENOMEM;
	for (i = 0; i < blog_torture_storm; i++) {
		struct torture_storm *storm = &torture_storms[i];
		struct task_struct *task;

		storm->number = i;
		for (j = 0; j < TORTURE_STORM_LIVE; j++) {
			init_completion(&storm->sparks[j].done);
			complete(&storm->sparks[j].done);
		}
		task = kthread_run(torture_blow, storm, "blog_storm/%u", i);
		if (IS_ERR(task))
			return PTR_ERR(task);
		storm->task = task;
	}
	return 0;
}

/* The crowd. */

static int torture_stand(void *data)
{
	u32 writer = (long)data;
	u32 i;

	torture_writer_is_me(writer);
	for (i = 0; i < blog_torture_crowd_records; i++) {
		blog_torture_log(TORTURE_TO_CROWD, writer, 1);
		if (i % 4 == 3)
			schedule_timeout_uninterruptible(1);
	}
	atomic_inc(&torture_crowd_done);
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int torture_crowd_start(void)
{
	u32 i;

	if (!blog_torture_crowd)
		return 0;
	torture_crowd = vcalloc(blog_torture_crowd, sizeof(*torture_crowd));
	if (!torture_crowd)
		return -ENOMEM;
	for (i = 0; i < blog_torture_crowd; i++) {
		int writer = torture_task_writer(TORTURE_CROWD);
		struct task_struct *task;

		if (writer < 0)
			return writer;
		task = kthread_run(torture_stand, (void *)(long)writer, "blog_crowd/%u", i);
		if (IS_ERR(task))
			return PTR_ERR(task);
		torture_crowd[i] = task;
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* The crowd outlives the run: snapshots show it alive. */
void torture_crowd_stop(void)
{
	u32 i;

	for (i = 0; torture_crowd && i < blog_torture_crowd; i++)
		if (torture_crowd[i])
			kthread_stop(torture_crowd[i]);
	vfree(torture_crowd);
	torture_crowd = NULL;
}

/* Disturbances. */

static int torture_renew(void *unused)
{
	u64 random = ((u64)blog_torture_seed << 32) + 1;

	while (!kthread_should_stop()) {
		u32 instance = torture_random(&random) % blog_torture_instances;
		int ret;

		torture_nap(1 + torture_random(&random) % (2 * blog_torture_renew_ms));
		if (kthread_should_stop())
			break;
		ret = blog_torture_renew(instance);
		if (ret)
			torture_error("component %u: %d", instance, ret);
		else
			WRITE_ONCE(torture_renewed, torture_renewed + 1);
	}
	return 0;
}

static int torture_switch(void *unused)
{
	u64 random = ((u64)blog_torture_seed << 32) + 2;
	unsigned int cpu;

	while (!kthread_should_stop()) {
		torture_nap(blog_torture_onoff_ms);
		cpu = torture_random(&random) % nr_cpu_ids;
		/* The first one stays. */
		if (!cpu || !cpu_possible(cpu))
			continue;
		/* Either may fail, if the other kernel threads need it so. */
		if (!(cpu_online(cpu) ? remove_cpu(cpu) : add_cpu(cpu)))
			WRITE_ONCE(torture_switched, torture_switched + 1);
	}
	for_each_possible_cpu(cpu)
		if (!cpu_online(cpu))
			add_cpu(cpu);
	return 0;
}

static int torture_run(struct task_struct **task, int (*run)(void *), void *data, const char *name)
{
	*task = kthread_run(run, data, "%s", name);
	if (IS_ERR(*task)) {
		int ret = PTR_ERR(*task);

		*task = NULL;
		return ret;
	}
	return 0;
}

static void torture_end(struct task_struct **task)
{
	if (*task)
		kthread_stop(*task);
	*task = NULL;
}

int torture_tasks_start(void)
{
	int ret = torture_workers_start();

	if (!ret)
		ret = torture_storms_start();
	if (!ret && blog_torture_history_us) {
		int writer = torture_task_writer(TORTURE_HISTORY);

		ret = writer < 0 ? writer :
			torture_run(&torture_historian, torture_write_history, (void *)(long)writer,
				    "blog_history");
	}
	if (!ret && blog_torture_instances && blog_torture_renew_ms)
		ret = torture_run(&torture_renewer, torture_renew, NULL, "blog_renew");
	if (!ret && blog_torture_onoff_ms && IS_ENABLED(CONFIG_HOTPLUG_CPU))
		ret = torture_run(&torture_switcher, torture_switch, NULL, "blog_onoff");
	if (!ret)
		ret = torture_crowd_start();
	return ret;
}

void torture_tasks_stop(void)
{
	u32 i;

	torture_end(&torture_switcher);
	torture_end(&torture_renewer);
	torture_end(&torture_historian);
	for (i = 0; torture_storms && i < blog_torture_storm; i++)
		torture_end(&torture_storms[i].task);
	vfree(torture_storms);
	torture_storms = NULL;
	while (torture_worker_count)
		torture_end(&torture_workers[--torture_worker_count]);
	vfree(torture_workers);
	torture_workers = NULL;
	/* Those who stay have logged what they will log. */
	while (torture_crowd && torture_crowd_ready() < blog_torture_crowd &&
	       torture_crowd[blog_torture_crowd - 1])
		schedule_timeout_uninterruptible(HZ / 50 + 1);
}
