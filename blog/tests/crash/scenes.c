// SPDX-License-Identifier: GPL-2.0
/*
 * What goes wrong in a driver: a NULL pointer in a softirq or a thread, stores to memory that isn't
 * the driver's, two threads that wait for each other's lock, a completion that nobody sends, a
 * thread that doesn't let go of its CPU, threads that wait for each other in a chain.
 */

#include <linux/completion.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/preempt.h>
#include <linux/rwsem.h>
#include <linux/sched/task.h>
#include <linux/semaphore.h>
#include <linux/timer.h>

#include "blog_crash.h"

/* NULL dereference in a softirq. */

struct crash_request {
	int done;
};

/* A driver's request in flight: there is none. */
static struct crash_request *crash_in_flight;
static struct crash_writer *crash_softirq_writer;
static struct timer_list crash_timer;

/* Records in one softirq. */
#define CRASH_BURST 50

static void crash_timeout(struct timer_list *timer)
{
	struct crash_writer *writer = crash_softirq_writer;
	unsigned int i;

	if (!writer->records)
		crash_writer_is_me(writer, "softirq");
	for (i = 0; i < CRASH_BURST && writer->records + 1 < param_records; i++)
		crash_note(writer, CRASH_WORKS);
	if (writer->records + 1 < param_records) {
		mod_timer(timer, jiffies + 1);
		return;
	}
	crash_note(writer, CRASH_COMPLETES);
	crash_at_place();
	while (!crash_told())
		cpu_relax();
	WRITE_ONCE(READ_ONCE(crash_in_flight)->done, 1);
}

static int crash_softirq_start(void *unused)
{
	timer_setup(&crash_timer, crash_timeout, TIMER_PINNED);
	mod_timer(&crash_timer, jiffies + 1);
	return 0;
}

int crash_softirq(void)
{
	crash_softirq_writer = crash_writer_new();
	return test_start(NULL, 0, crash_softirq_start, NULL, "crash_submit/0");
}

/* The same in a thread, which dies; the machine goes on. */

static int crash_die(void *data)
{
	struct crash_writer *writer = data;

	crash_writer_is_me(writer, "task");
	while (writer->records < param_records)
		crash_note(writer, CRASH_WORKS);
	WRITE_ONCE(READ_ONCE(crash_in_flight)->done, 1);
	return 0;
}

int crash_oops(void)
{
	return test_start(NULL, -1, crash_die, crash_writer_new(), "%s/1", __func__);
}

/* A panic after stores to where BLog has its pointers. */

static int crash_wild(void *data)
{
	struct crash_writer *writer = data;

	crash_writer_is_me(writer, "task");
	while (writer->records < param_records)
		crash_note(writer, CRASH_WORKS);
	blog_crash_spoil(current, param_spoil);
	panic("blog_crash: wild stores");
}

int crash_spoilt(void)
{
	return test_start(NULL, -1, crash_wild, crash_writer_new(), "%s/1", __func__);
}

/* AB-BA. */

static DEFINE_MUTEX(crash_a);
static DEFINE_MUTEX(crash_b);
static DECLARE_COMPLETION(crash_a_held);
static DECLARE_COMPLETION(crash_b_held);

static int crash_ab(void *data)
{
	struct crash_writer *writer = data;

	crash_writer_is_me(writer, "task");
	while (writer->records < param_records)
		crash_note(writer, CRASH_WORKS);
	crash_note(writer, CRASH_TAKES_A);
	mutex_lock(&crash_a);
	crash_note(writer, CRASH_HAS_A);
	complete(&crash_a_held);
	wait_for_completion(&crash_b_held);
	crash_note(writer, CRASH_TAKES_B);
	crash_at_place();
	mutex_lock(&crash_b);
	crash_note(writer, CRASH_HAS_B);
	return 0;
}

static int crash_ba(void *data)
{
	struct crash_writer *writer = data;

	crash_writer_is_me(writer, "task");
	crash_note(writer, CRASH_TAKES_B);
	mutex_lock(&crash_b);
	crash_note(writer, CRASH_HAS_B);
	complete(&crash_b_held);
	wait_for_completion(&crash_a_held);
	crash_note(writer, CRASH_TAKES_A);
	crash_at_place();
	mutex_lock(&crash_a);
	crash_note(writer, CRASH_HAS_A);
	return 0;
}

int crash_abba(void)
{
	struct crash_writer *ab = crash_writer_new(), *ba = crash_writer_new();

	return test_start(NULL, -1, crash_ab, ab, "%s/1", __func__) ?:
		       test_start(NULL, -1, crash_ba, ba, "%s/2", __func__);
}

/* A lost completion among threads that log heavily. */

#define CRASH_LOUD 30
/* The numbers of loud threads as writers. */
#define CRASH_LOUD_ID 100

static DECLARE_COMPLETION(crash_never);
static DECLARE_COMPLETION(crash_loud_enough);
static atomic_t crash_quiet = ATOMIC_INIT(CRASH_LOUD);

/* Every second one logs to the very component of the thread that is stuck. */
static int crash_loud(void *data)
{
	u32 number = (long)data, seq = 0;

	while (!kthread_should_stop()) {
		if (number & 1)
			blog_crash_log(CRASH_LOUD_ID + number, seq, CRASH_WORKS);
		else
			blog_crash_noise(CRASH_LOUD_ID + number, seq);
		if (++seq == param_records && atomic_dec_and_test(&crash_quiet))
			complete(&crash_loud_enough);
		cond_resched();
	}
	return 0;
}

static int crash_wait(void *data)
{
	struct crash_writer *writer = data;

	crash_writer_is_me(writer, "task");
	while (writer->records < 40)
		crash_note(writer, CRASH_WORKS);
	crash_note(writer, CRASH_WAITS);
	crash_at_place();
	wait_for_completion(&crash_never);
	return 0;
}

static int crash_wait_for_noise(void *unused)
{
	wait_for_completion(&crash_loud_enough);
	crash_at_place();
	return 0;
}

int crash_lost(void)
{
	long i;
	int ret = test_start(NULL, -1, crash_wait, crash_writer_new(), "%s/1", __func__) ?:
			  test_start(NULL, -1, crash_wait_for_noise, NULL, "crash_noise/0");

	for (i = 0; !ret && i < CRASH_LOUD; i++)
		ret = test_start(NULL, -1, crash_loud, (void *)i, "crash_loud/%ld", i);
	return ret;
}

/* A soft lock-up. */

static int crash_spin(void *data)
{
	struct crash_writer *writer = data;

	crash_writer_is_me(writer, "task");
	while (writer->records < param_records)
		crash_note(writer, CRASH_WORKS);
	preempt_disable();
	crash_note(writer, CRASH_SPINS);
	crash_at_place();
	for (;;)
		cpu_relax();
	return 0;
}

int crash_lockup(void)
{
	return test_start(NULL, 0, crash_spin, crash_writer_new(), "%s/1", __func__);
}

/*
 * Who blocks whom: threads 1, 2 and 3 wait for what 2, 3 and 4 hold, by two mutexes
 * and, to read, a semaphore that 4 has to write. Thread 5 waits for a semaphore that 4
 * has, too, and 6 for a mutex whose holder has ended. Thread 4 waits for a completion.
 */

#define CRASH_BLAMED 6

static DEFINE_MUTEX(crash_first);
static DEFINE_MUTEX(crash_second);
static DECLARE_RWSEM(crash_third);
static DEFINE_SEMAPHORE(crash_counted, 1);
static DEFINE_MUTEX(crash_orphan);
static struct completion crash_held[CRASH_BLAMED + 2];

static void crash_hold(unsigned int id)
{
	switch (id) {
	case 2:
		return mutex_lock(&crash_first);
	case 3:
		return mutex_lock(&crash_second);
	case 4:
		down_write(&crash_third);
		return down(&crash_counted);
	case CRASH_BLAMED + 1:
		return mutex_lock(&crash_orphan);
	}
}

static void crash_want(unsigned int id)
{
	switch (id) {
	case 1:
		return mutex_lock(&crash_first);
	case 2:
		return mutex_lock(&crash_second);
	case 3:
		return down_read(&crash_third);
	case 4:
		return wait_for_completion(&crash_never);
	case 5:
		return down(&crash_counted);
	case 6:
		return mutex_lock(&crash_orphan);
	}
}

/* The thread that has what this one is going to wait for */
static unsigned int crash_blamed(unsigned int id)
{
	return id == 5 ? 4 : id + 1;
}

static int crash_blame_run(void *data)
{
	struct crash_writer *writer = data;

	crash_writer_is_me(writer, "task");
	crash_hold(writer->id);
	complete_all(&crash_held[writer->id]);
	if (writer->id != 4)
		wait_for_completion(&crash_held[crash_blamed(writer->id)]);
	while (writer->records < 3)
		crash_note(writer, CRASH_WORKS);
	crash_note(writer, CRASH_WAITS);
	crash_at_place();
	crash_want(writer->id);
	return 0;
}

/* Leaves with the lock. Its struct stays, or the next new task would get that, and be blamed. */
static int crash_leave(void *unused)
{
	get_task_struct(current);
	crash_hold(CRASH_BLAMED + 1);
	complete_all(&crash_held[CRASH_BLAMED + 1]);
	return 0;
}

int crash_blame(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(crash_held); i++)
		init_completion(&crash_held[i]);
	ret = test_start(NULL, -1, crash_leave, NULL, "crash_leave/0");
	for (i = 1; !ret && i <= CRASH_BLAMED; i++)
		ret = test_start(NULL, -1, crash_blame_run, crash_writer_new(), "%s/%u", __func__,
				 i);
	return ret;
}
