// SPDX-License-Identifier: GPL-2.0
/*
 * Torture test of BLog.
 *
 * Logs self-checking records from every context that this kernel has, for some
 * seconds, while components come and go, CPUs go down and up, and users change
 * settings. Then it prints one line that ends with SUCCESS or FAILURE. That verdict
 * is about the run: every requested context has logged, and nothing failed. It
 * doesn't cover the records: a verifier in BLog's repository compares snapshots
 * with blog_torture/truth in debugfs.
 *
 * This file has the parameters and the order of steps; tasks.c, contexts.c and
 * probes.c bring calls into their contexts; torture.rs logs; truth.c has the number
 * of records of each writer.
 */

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/stop_machine.h>
#include <linux/syscore_ops.h>

#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
#include <asm/tsc.h>
#endif

#include "blog_torture.h"

/* Built in, it must be asked for. */
#ifdef MODULE
#define TORTURE_SECONDS 10
#else
#define TORTURE_SECONDS 0
#endif

TEST_PARAM(seconds, TORTURE_SECONDS, 0444,
	   "How long to run; 0: not at all (default 10, 0 where built in)");
TEST_PARAM(workers, 2, 0444, "Tasks that log all the time, for each CPU (default 2)");
TEST_PARAM(burst, 16, 0444, "Most records that are logged in a row (default 16)");
TEST_PARAM(pause_us, 0, 0444, "Sleep of a worker between bursts (default 0)");
TEST_PARAM(payload, 200, 0444, "Most bytes in a record's payload (default 200)");
TEST_PARAM(storm, 1, 0444, "Tasks that start short-lived ones (default 1)");
TEST_PARAM(storm_max, 200000, 0444,
	   "Most short-lived tasks, and user tasks, in all (default 200000)");
TEST_PARAM(crowd, 0, 0444, "Tasks that log a little and stay (default 0)");
TEST_PARAM(crowd_records, 10, 0444, "Records of each of these (default 10)");
TEST_PARAM(instances, 4, 0444, "Components that are made and dropped (default 4)");
TEST_PARAM(renew_ms, 200, 0444, "Time between two of these; 0: they stay (default 200)");
TEST_PARAM(history_us, 0, 0444, "Time between two records of a slow writer; 0: none (default 0)");
TEST_PARAM(irq_us, 2000, 0444,
	   "Time between two timer interrupts on a CPU; 0: none (default 2000)");
TEST_PARAM(ipi_us, 5000, 0444, "Time between two calls of all CPUs; 0: none (default 5000)");
TEST_PARAM(onoff_ms, 0, 0444, "Time between two changes of CPUs; 0: none (default 0)");
TEST_PARAM(unstable_ms, 0, 0444,
	   "Time after which the TSC is declared unstable; 0: never (default 0)");
TEST_PARAM(syscore_ms, 0, 0444,
	   "Time after which syscore operations are called; 0: never (default 0)");
TEST_PARAM(probes, 0, 0444, "Kprobes in the middle of log calls (default 0)");
TEST_PARAM(places, ~0, 0444, "Kinds of kprobes outside of log calls, one bit each (default all)");
TEST_PARAM(race, 0, 0444, "Whether workers race on purpose, for KCSAN to find (default 0)");
TEST_PARAM(run, 0, 0444,
	   "Number of this run, 0 to 255; writers of each have their own numbers (default 0)");
TEST_PARAM(seed, 1, 0444, "Where random choices start (default 1)");

static DEFINE_MUTEX(torture_lock);
static enum torture_state torture_now = TORTURE_DONE;
static atomic_t torture_errors;
static struct task_struct *torture_conductor;

enum torture_state torture_state(void)
{
	return READ_ONCE(torture_now);
}

/* Something that must not happen has happened: no SUCCESS any more. */
void torture_error(const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	/* The first few say it all. */
	if (atomic_inc_return(&torture_errors) > 10)
		return;
	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	pr_err("blog_torture: %pV\n", &vaf);
	va_end(args);
}

/* Where the random numbers of one who needs some begin. */
u64 torture_seed(u32 number)
{
	return ((u64)param_seed << 32) + number;
}

/* SplitMix64: good enough, and it needs no lock. */
u32 torture_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

/* A context that was asked for and that never logged was not tested. */
static void torture_check_kinds(void)
{
	static const struct {
		enum torture_kind kind;
		unsigned int *wanted;
	} demands[] = {
		{ TORTURE_WORKER, &param_workers }, { TORTURE_STORM, &param_storm },
		{ TORTURE_CROWD, &param_crowd },    { TORTURE_HISTORY, &param_history_us },
		{ TORTURE_TIMER, &param_irq_us },   { TORTURE_TASKLET, &param_irq_us },
		{ TORTURE_HRTIMER, &param_irq_us }, { TORTURE_IRQWORK, &param_irq_us },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(demands); i++)
		if (*demands[i].wanted && !torture_kind_total(demands[i].kind))
			torture_error("no %s has logged", torture_kind_name(demands[i].kind));
	if (param_onoff_ms && !torture_onoffs())
		torture_error("no CPU went down");
	if (param_instances && param_renew_ms && !torture_renewals())
		torture_error("no component was dropped");
	if (param_probes && !torture_probe_hits(TORTURE_NESTED))
		torture_error("no probe in a log call was hit");
}

static void torture_verdict(void)
{
	char name[64];
	u64 records = 0;
	u32 target;
	int kind;

	torture_check_kinds();
	for (kind = 0; kind < TORTURE_KINDS; kind++) {
		u64 n = torture_kind_total(kind);

		records += n;
		if (n)
			pr_info("blog_torture: %s logged %llu\n", torture_kind_name(kind), n);
	}
	for (target = 0; target < blog_torture_targets(); target++) {
		u64 n = torture_target_total(target);

		if (n && blog_torture_name(target, name, sizeof(name)))
			pr_info("blog_torture: run %u total %s %llu\n", param_run, name, n);
	}
	pr_info("blog_torture: run %u: %llu records, %llu short-lived tasks, %llu components dropped, %llu CPUs down or up, %llu NMIs in log calls, %llu nested calls, %d errors: %s\n",
		param_run, records, torture_storm_tasks(), torture_renewals(), torture_onoffs(),
		torture_nmi_in_blog(), torture_probe_hits(TORTURE_NESTED),
		atomic_read(&torture_errors), atomic_read(&torture_errors) ? "FAILURE" : "SUCCESS");
}

static void torture_start_all(void)
{
	int ret = torture_probes_start();

	if (!ret)
		ret = torture_contexts_start();
	if (!ret)
		ret = torture_tasks_start();
	if (ret)
		torture_error("start failed: %d", ret);
}

/* Ends the run, once. All that logs is gone when it returns, but for user tasks. */
void torture_stop_now(void)
{
	mutex_lock(&torture_lock);
	if (torture_now != TORTURE_DONE) {
		WRITE_ONCE(torture_now, TORTURE_STOPPING);
		torture_tasks_stop();
		torture_contexts_stop();
		torture_probes_stop();
		torture_verdict();
		WRITE_ONCE(torture_now, TORTURE_DONE);
	}
	mutex_unlock(&torture_lock);
}

/* As if the kernel had found that out. There is no way back. */
static void torture_distrust_tsc(void)
{
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
	mark_tsc_unstable("blog_torture");
#else
	torture_error("there is no TSC to distrust");
#endif
}

/* As Xen does with a guest that is saved or moved. All other CPUs wait. */
static int torture_syscore(void *unused)
{
#ifdef CONFIG_PM_SLEEP
	int ret = syscore_suspend();

	if (!ret)
		syscore_resume();
	return ret;
#else
	return -EOPNOTSUPP;
#endif
}

static int torture_conduct(void *unused)
{
	unsigned long unstable = jiffies + msecs_to_jiffies(param_unstable_ms);
	unsigned long syscore = jiffies + msecs_to_jiffies(param_syscore_ms);
	unsigned long end = jiffies + param_seconds * HZ;
	bool trusted = param_unstable_ms, awake = param_syscore_ms;

	while (!kthread_should_stop() && time_before(jiffies, end)) {
		test_nap(min(end - jiffies, (unsigned long)HZ / 10));
		if (trusted && time_after_eq(jiffies, unstable)) {
			torture_distrust_tsc();
			trusted = false;
		}
		if (awake && time_after_eq(jiffies, syscore)) {
			if (stop_machine(torture_syscore, NULL, NULL))
				torture_error("syscore operations failed");
			awake = false;
		}
	}
	torture_stop_now();
	test_nap(MAX_SCHEDULE_TIMEOUT);
	return 0;
}

static int __init torture_init(void)
{
	int ret;

	if (!param_seconds)
		return 0;
	param_run &= 0xff;
	ret = torture_writers_init();
	if (ret)
		return ret;
	ret = torture_truth_init();
	if (ret)
		goto writers;
	WRITE_ONCE(torture_now, TORTURE_RUNNING);
	torture_start_all();
	ret = test_start(&torture_conductor, -1, torture_conduct, NULL, "blog_torture");
	if (ret) {
		torture_stop_now();
		torture_crowd_stop();
		goto truth;
	}
	return 0;
truth:
	torture_truth_exit();
writers:
	torture_writers_exit();
	return ret;
}

static void __exit torture_exit(void)
{
	if (!torture_conductor)
		return;
	test_stop(&torture_conductor);
	torture_crowd_stop();
	torture_truth_exit();
	torture_writers_exit();
}

module_init(torture_init);
module_exit(torture_exit);

MODULE_DESCRIPTION("Torture test of BLog");
MODULE_LICENSE("GPL");
