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
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/vmalloc.h>

#include "blog_torture.h"

/* Short-lived tasks at a time, for each task that starts them. */
#define TORTURE_STORM_LIVE 64
/* Most records of a short-lived task. */
#define TORTURE_STORM_RECORDS 20

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

/* Starts a thread that is a writer, with the writer's number as its data. */
static int torture_start_writer(struct task_struct **task, enum torture_kind kind,
				int (*run)(void *writer), const char *name, u32 number)
{
	int writer = torture_task_writer(kind);

	return writer < 0 ? writer : test_start(task, -1, run, (void *)(long)writer, name, number);
}

/* Workers. */

static int torture_work(void *data)
{
	u32 writer = (long)data;
	u64 random = torture_seed(writer);

	torture_writer_is_me(writer);
	while (!kthread_should_stop()) {
		u32 r = torture_random(&random);
		u32 to = r % (4 + param_instances);

		/* Those in the middle have writers of their own. */
		if (to >= TORTURE_TO_STORM)
			to += TORTURE_TO_INSTANCE - TORTURE_TO_STORM;
		if (to == TORTURE_TO_FAST) {
			blog_torture_fast(writer);
		} else {
			r = torture_random(&random);
			blog_torture_log(to, writer, 1 + r % param_burst);
		}
		if (param_race)
			blog_torture_race();
		if (param_pause_us)
			usleep_range(param_pause_us, 2 * param_pause_us);
		else
			/* Dropped instances wait for tasks that don't sleep. */
			cond_resched_tasks_rcu_qs();
	}
	return 0;
}

static int torture_workers_start(void)
{
	u32 n = param_workers * num_online_cpus();
	u32 i;

	if (!n)
		return 0;
	torture_workers = vcalloc(n, sizeof(*torture_workers));
	if (!torture_workers)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		int ret = torture_start_writer(&torture_workers[i], TORTURE_WORKER, torture_work,
					       "blog_work/%u", i);

		if (ret)
			return ret;
		torture_worker_count++;
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
		usleep_range(param_history_us, param_history_us + 100);
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
	u64 random = torture_seed(~storm->number);
	u32 i = 0;

	while (!kthread_should_stop()) {
		struct torture_spark *spark = &storm->sparks[i];
		int writer, ret;

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
		ret = test_start(NULL, -1, torture_spark, spark, "blog_spark/%u", writer);
		if (ret) {
			torture_error("no short-lived task: %d", ret);
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
	int ret;

	if (!param_storm)
		return 0;
	torture_storms = vcalloc(param_storm, sizeof(*torture_storms));
	if (!torture_storms)
		return -ENOMEM;
	for (i = 0; i < param_storm; i++) {
		struct torture_storm *storm = &torture_storms[i];

		storm->number = i;
		for (j = 0; j < TORTURE_STORM_LIVE; j++) {
			init_completion(&storm->sparks[j].done);
			complete(&storm->sparks[j].done);
		}
		ret = test_start(&storm->task, -1, torture_blow, storm, "blog_storm/%u", i);
		if (ret)
			return ret;
	}
	return 0;
}

/* The crowd. */

static int torture_stand(void *data)
{
	u32 writer = (long)data;
	u32 i;

	torture_writer_is_me(writer);
	for (i = 0; i < param_crowd_records; i++) {
		blog_torture_log(TORTURE_TO_CROWD, writer, 1);
		if (i % 4 == 3)
			schedule_timeout_uninterruptible(1);
	}
	atomic_inc(&torture_crowd_done);
	test_nap(MAX_SCHEDULE_TIMEOUT);
	return 0;
}

static int torture_crowd_start(void)
{
	u32 i;

	if (!param_crowd)
		return 0;
	torture_crowd = vcalloc(param_crowd, sizeof(*torture_crowd));
	if (!torture_crowd)
		return -ENOMEM;
	for (i = 0; i < param_crowd; i++) {
		int ret = torture_start_writer(&torture_crowd[i], TORTURE_CROWD, torture_stand,
					       "blog_crowd/%u", i);

		if (ret)
			return ret;
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* The crowd outlives the run: snapshots show it alive. */
void torture_crowd_stop(void)
{
	u32 i;

	for (i = 0; torture_crowd && i < param_crowd; i++)
		test_stop(&torture_crowd[i]);
	vfree(torture_crowd);
	torture_crowd = NULL;
}

/* Disturbances. */

static int torture_renew(void *unused)
{
	u64 random = torture_seed(1);

	while (!kthread_should_stop()) {
		u32 instance = torture_random(&random) % param_instances;
		int ret;

		test_nap(msecs_to_jiffies(1 + torture_random(&random) % (2 * param_renew_ms)));
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
	u64 random = torture_seed(2);
	unsigned int cpu;

	while (!kthread_should_stop()) {
		test_nap(msecs_to_jiffies(param_onoff_ms));
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

int torture_tasks_start(void)
{
	int ret = torture_workers_start();

	if (!ret)
		ret = torture_storms_start();
	if (!ret && param_history_us)
		ret = torture_start_writer(&torture_historian, TORTURE_HISTORY,
					   torture_write_history, "blog_history", 0);
	if (!ret && param_instances && param_renew_ms)
		ret = test_start(&torture_renewer, -1, torture_renew, NULL, "blog_renew");
	if (!ret && param_onoff_ms && IS_ENABLED(CONFIG_HOTPLUG_CPU))
		ret = test_start(&torture_switcher, -1, torture_switch, NULL, "blog_onoff");
	if (!ret)
		ret = torture_crowd_start();
	return ret;
}

void torture_tasks_stop(void)
{
	u32 i;

	test_stop(&torture_switcher);
	test_stop(&torture_renewer);
	test_stop(&torture_historian);
	for (i = 0; torture_storms && i < param_storm; i++)
		test_stop(&torture_storms[i].task);
	vfree(torture_storms);
	torture_storms = NULL;
	while (torture_worker_count)
		test_stop(&torture_workers[--torture_worker_count]);
	vfree(torture_workers);
	torture_workers = NULL;
	/* Those who stay have logged what they will log. */
	while (torture_crowd && torture_crowd_ready() < param_crowd &&
	       torture_crowd[param_crowd - 1])
		schedule_timeout_uninterruptible(HZ / 50 + 1);
}
