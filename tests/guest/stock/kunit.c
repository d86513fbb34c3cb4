// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit's suites on a kernel without KUnit: runs those of the module that this file
 * is linked to when its parameter "kunit" is written, and prints the results as
 * KUnit does. A case that fails ends its thread, as there.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>

/* As long as KUnit waits for a case */
#define PATIENCE (300 * HZ)

/* The first one of the crate that is in this module, up to NULL: scripts/build-stock */
extern struct kunit_suite *blog_kunit_suites[];

struct run {
	struct kunit test;
	const struct kunit_case *test_case;
	struct completion done;
	bool failed;
};

/* One at a time. The writer doesn't hold the parameters' lock, as suites set some, too. */
static struct run run;
static struct task_struct *running; /* its thread */
static DEFINE_MUTEX(running_lock);

/*
 * What rust/kernel/kunit.rs calls. The kernel has the first one, too, which finds
 * no test.
 */
struct kunit *rust_helper_kunit_get_current_test(void);

struct kunit *rust_helper_kunit_get_current_test(void)
{
	return READ_ONCE(running) == current ? &run.test : NULL;
}

void kunit_unary_assert_format(const struct kunit_assert *assert, const struct va_format *message,
			       struct string_stream *stream)
{
}

void __kunit_do_failed_assertion(struct kunit *test, const struct kunit_loc *loc,
				 enum kunit_assert_type type, const struct kunit_assert *assert,
				 assert_format_t assert_format, const char *fmt, ...)
{
	const struct kunit_unary_assert *unary =
		container_of(assert, struct kunit_unary_assert, assert);

	pr_err("    # %s: ASSERTION FAILED at %s:%d\n", run.test_case->name, loc->file, loc->line);
	pr_err("    Expected %s to be true, but is false\n", unary->condition);
}

void __noreturn __kunit_abort(struct kunit *test)
{
	run.failed = true;
	kthread_complete_and_exit(&run.done, 0);
}

static int run_thread(void *unused)
{
	run.test_case->run_case(&run.test);
	kthread_complete_and_exit(&run.done, 0);
}

/* False: the case has not ended, and what it uses stays. */
static bool run_case(const struct kunit_case *test_case, unsigned int number, bool *failed)
{
	struct task_struct *task;

	*failed = true;
	if (running)
		return false;
	run = (struct run){ .test_case = test_case };
	init_completion(&run.done);
	task = kthread_create(run_thread, NULL, "kunit_try_catch");
	if (IS_ERR(task))
		return false;
	get_task_struct(task);
	WRITE_ONCE(running, task);
	wake_up_process(task);
	if (!wait_for_completion_timeout(&run.done, PATIENCE)) {
		__module_get(THIS_MODULE);
		pr_info("    # %s: it has not ended\n", test_case->name);
		pr_info("    not ok %u %s\n", number, test_case->name);
		return false;
	}
	WRITE_ONCE(running, NULL);
	put_task_struct(task);
	*failed = run.failed;
	pr_info("    %sok %u %s\n", *failed ? "not " : "", number, test_case->name);
	return true;
}

static bool run_suite(const struct kunit_suite *suite, unsigned int number)
{
	const struct kunit_case *test_case;
	unsigned int cases = 0, bad = 0;
	bool ended = true, failed;

	for (test_case = suite->test_cases; test_case->run_case; test_case++)
		cases++;
	pr_info("    KTAP version 1\n");
	pr_info("    # Subtest: %s\n", suite->name);
	pr_info("    1..%u\n", cases);
	for (unsigned int i = 0; i < cases && ended; i++) {
		ended = run_case(&suite->test_cases[i], i + 1, &failed);
		bad += failed;
	}
	pr_info("%sok %u %s\n", bad ? "not " : "", number, suite->name);
	return ended;
}

static int kunit_set(const char *value, const struct kernel_param *kp)
{
	unsigned int suites = 0, i;

	kernel_param_unlock(THIS_MODULE);
	mutex_lock(&running_lock);
	while (blog_kunit_suites[suites])
		suites++;
	pr_info("KTAP version 1\n");
	pr_info("1..%u\n", suites);
	for (i = 0; i < suites; i++) {
		if (!run_suite(blog_kunit_suites[i], i + 1))
			break;
	}
	mutex_unlock(&running_lock);
	kernel_param_lock(THIS_MODULE);
	return i < suites ? -ETIMEDOUT : 0;
}

static const struct kernel_param_ops kunit_ops = { .set = kunit_set };
module_param_cb(kunit, &kunit_ops, NULL, 0200);
