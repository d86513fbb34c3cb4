// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit's suites on a kernel without KUnit: runs those of BLog's Rust when the parameter "kunit" is
 * written, and prints the results as KUnit does. A case that fails ends its thread, as there.
 */

#include <linux/completion.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "kunit.h"

/* As long as KUnit waits for a case */
#define PATIENCE (300 * HZ)

static DECLARE_COMPLETION(this_done);
static bool this_failed, this_runs;
static DEFINE_MUTEX(running);

void blog_kunit_abort(void)
{
	this_failed = true;
	kthread_complete_and_exit(&this_done, 0);
}

static int run_thread(void *run)
{
	((void (*)(void))run)();
	kthread_complete_and_exit(&this_done, 0);
}

/* False: it has not ended, and what it uses stays. */
static bool run_case(const struct blog_kunit_case *test, unsigned int number)
{
	struct task_struct *task;

	this_failed = false;
	reinit_completion(&this_done);
	task = kthread_run(run_thread, test->run, "kunit_try_catch");
	if (IS_ERR(task))
		return false;
	if (!wait_for_completion_timeout(&this_done, PATIENCE)) {
		this_runs = true;
		pr_info("    not ok %u %s\n", number, test->name);
		return false;
	}
	pr_info("    %sok %u %s\n", this_failed ? "not " : "", number, test->name);
	return true;
}

static bool run_suite(const struct blog_kunit_suite *suite, unsigned int number)
{
	unsigned int cases = 0, i;
	bool ended = true, bad = false;

	while (suite->cases[cases].name)
		cases++;
	pr_info("    KTAP version 1\n    # Subtest: %s\n    1..%u\n", suite->name, cases);
	for (i = 0; i < cases && ended; i++) {
		ended = run_case(&suite->cases[i], i + 1);
		bad |= this_failed || !ended;
	}
	pr_info("%sok %u %s\n", bad ? "not " : "", number, suite->name);
	return ended;
}

/* What a suite has another thread do. */
struct spawned {
	void (*run)(void *data);
	void *data;
};

static int spawned_thread(void *data)
{
	struct spawned it = *(struct spawned *)data;

	kfree(data);
	it.run(it.data);
	return 0;
}

int blog_kunit_spawn(void (*run)(void *data), void *data);
int blog_kunit_spawn(void (*run)(void *data), void *data)
{
	struct spawned *it = kmalloc(sizeof(*it), GFP_KERNEL);

	if (!it)
		return -ENOMEM;
	*it = (struct spawned){ run, data };
	return PTR_ERR_OR_ZERO(kthread_run(spawned_thread, it, "blog_test_spawned"));
}

static int kunit_set(const char *value, const struct kernel_param *kp)
{
	unsigned int suites = 0, i;

	/* Suites set parameters, too. */
	kernel_param_unlock(THIS_MODULE);
	mutex_lock(&running);
	while (blog_kunit_suites[suites])
		suites++;
	pr_info("KTAP version 1\n1..%u\n", suites);
	for (i = 0; i < suites && !this_runs; i++)
		run_suite(blog_kunit_suites[i], i + 1);
	mutex_unlock(&running);
	kernel_param_lock(THIS_MODULE);
	return this_runs ? -ETIMEDOUT : 0;
}

static const struct kernel_param_ops kunit_ops = { .set = kunit_set };
module_param_cb(kunit, &kunit_ops, NULL, 0200);
