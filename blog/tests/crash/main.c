// SPDX-License-Identifier: GPL-2.0
/*
 * Brings the kernel down, or to a halt, while it logs, for tests that read crash
 * dumps. Never load this into a kernel that you need.
 *
 *	modprobe blog_crash
 *	echo abba > /sys/module/blog_crash/parameters/scene
 *
 * Each writer whose last records matter notes who it is, and how many records it
 * has logged, before it goes to where it crashes or hangs. A separate thread, the
 * crier, prints that on the console, for the test that checks the dump:
 *
 *	blog_crash: writer 1 context task cpu -1 pid 61 comm crash_abba/1 records 403
 *	blog_crash: ready abba
 *
 * In the scenes with steps, the crash comes in the middle of a log call. That call
 * has not returned, and its thread prints where it is without the kernel's help, as
 * other CPUs may wait for this one. One more line has the number of instructions of
 * the call so far, and of published records.
 *
 * When the kernel is about to start a crash kernel, and calls BLog, a last line
 * says whether the note without which nobody can read the dump was saved before:
 *
 *	blog_crash: note saved
 */

#include <linux/hrtimer.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/vmcore_info.h>

#include "blog_crash.h"

#define CRASH_WRITERS 6

TEST_PARAM(records, 1000, 0644, "records of a writer before it crashes or hangs");
TEST_PARAM(at, 1, 0644, "instructions into the log call at which to stop");
TEST_PARAM(every, 0, 0644,
	   "after an NMI, stop again after so many more (0: an NMI is for the kernel)");

TEST_PARAM(spoil, 0, 0644, "which of BLog's pointers scene spoilt stores over, a bit for each");

static struct crash_writer crash_writers[CRASH_WRITERS];
static atomic_t crash_writer_count;
/* Writers at their places, since the crier has last spoken. */
static atomic_t crash_ready;
static atomic_t crash_told_count;
static const char *crash_scene = "none";
static unsigned int crash_wanted;

/* A new writer, or NULL. Process context. */
struct crash_writer *crash_writer_new(void)
{
	int id = atomic_inc_return(&crash_writer_count);

	if (id > CRASH_WRITERS)
		return NULL;
	crash_writers[id - 1].id = id;
	return &crash_writers[id - 1];
}

/* The calling context is the writer's. For interrupts, the CPU says which one. */
void crash_writer_is_me(struct crash_writer *writer, const char *context)
{
	bool task = !strcmp(context, "task");

	writer->context = context;
	writer->pid = task ? current->pid : -1;
	writer->cpu = task ? -1 : raw_smp_processor_id();
	strscpy(writer->comm, task ? current->comm : "-");
}

/* Logs the writer's next record. */
void crash_note(struct crash_writer *writer, enum crash_event event)
{
	blog_crash_log(writer->id, writer->records, event);
	WRITE_ONCE(writer->records, writer->records + 1);
}

/* A writer has logged all that it will. Any context. */
void crash_at_place(void)
{
	/* What the writer has stored about itself is before. */
	smp_mb__before_atomic();
	atomic_inc(&crash_ready);
}

/* Whether the crier has spoken of all who were at their places. Any context. */
bool crash_told(void)
{
	return atomic_read(&crash_told_count) >= atomic_read(&crash_ready);
}

static void crash_print(const char *line)
{
	pr_emerg("%s\n", line);
}

/* By whatever prints a line. */
void crash_tell(void (*say)(const char *line))
{
	int count = min(atomic_read(&crash_writer_count), CRASH_WRITERS);
	/* Only one CPU comes here, and its stack may be that of an exception. */
	static char line[KSYM_SYMBOL_LEN + 96];
	int i;

	for (i = 0; i < count; i++) {
		const struct crash_writer *writer = &crash_writers[i];

		snprintf(line, sizeof(line),
			 "blog_crash: writer %u context %s cpu %d pid %d comm %s records %u",
			 writer->id, writer->context, writer->cpu, writer->pid, writer->comm,
			 READ_ONCE(writer->records));
		say(line);
	}
	if (crash_step_text(line, sizeof(line)))
		say(line);
	snprintf(line, sizeof(line), "blog_crash: ready %s", crash_scene);
	say(line);
}

/*
 * Runs on another CPU than a writer that doesn't let go of its own; and so doesn't
 * rely on a timer that an idle CPU leaves to one that is busy.
 */
static int crash_cry(void *unused)
{
	ktime_t pause = NSEC_PER_MSEC;

	while (!kthread_should_stop()) {
		int ready = atomic_read(&crash_ready);

		/* Pairs with crash_at_place(). */
		smp_mb__after_atomic();
		if (ready >= crash_wanted && ready > atomic_read(&crash_told_count)) {
			crash_tell(crash_print);
			atomic_set(&crash_told_count, ready);
		}
		set_current_state(TASK_IDLE);
		schedule_hrtimeout_range(&pause, 0, HRTIMER_MODE_REL_PINNED);
	}
	return 0;
}

static const struct {
	const char *name;
	/* Writers that must be at their places before it is time. */
	unsigned int writers;
} crash_scenes[] = {
	{ "softirq", 1 }, { "abba", 2 }, { "lost", 2 }, { "lockup", 1 }, { "blame", 6 },
	{ "record", 1 },  { "turn", 1 }, { "oops", 1 }, { "spoilt", 1 },
};

static int crash_start(unsigned int scene)
{
	int ret;

	crash_scene = crash_scenes[scene].name;
	crash_wanted = crash_scenes[scene].writers;
	ret = test_start(NULL, num_online_cpus() - 1, crash_cry, NULL, "crash_crier");
	if (ret)
		return ret;
	switch (scene) {
	case 0:
		return crash_softirq();
	case 1:
		return crash_abba();
	case 2:
		return crash_lost();
	case 3:
		return crash_lockup();
	case 4:
		return crash_blame();
	case 7:
		return crash_oops();
	case 8:
		return crash_spoilt();
	default:
		return crash_steps(scene == 6);
	}
}

static int crash_scene_set(const char *value, const struct kernel_param *kp)
{
	static atomic_t started;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(crash_scenes); i++)
		if (sysfs_streq(value, crash_scenes[i].name))
			break;
	if (i == ARRAY_SIZE(crash_scenes))
		return -EINVAL;
	/* One scene, and one CPU beside that of its writer. */
	if (num_online_cpus() < 2)
		return -EOPNOTSUPP;
	if (atomic_xchg(&started, 1))
		return -EBUSY;
	return crash_start(i);
}

static int crash_scene_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", crash_scene);
}

static const struct kernel_param_ops crash_scene_ops = {
	.set = crash_scene_set,
	.get = crash_scene_get,
};

/* Not on the command line: it takes threads. */
module_param_cb(scene, &crash_scene_ops, NULL, 0600);
MODULE_PARM_DESC(scene, "softirq, abba, lost, lockup, blame, record, turn, oops or spoilt: brings the kernel down");

/* No exit: what a scene has started has no end. */

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Crashes that are looked for in dumps, for tests of BLog");
