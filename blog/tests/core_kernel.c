// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of the kernel that the suites of the logger's inside need, or compare
 * it with: core_keep.rs, core_locks.rs, core_registry.rs, core_root.rs and core_worker.rs.
 */

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../sys/glue.h"

/* Has lockdep think that memory is freed from here on, to make room. */
void blog_pretend_reclaim(bool begin)
{
	if (begin)
		fs_reclaim_acquire(GFP_KERNEL);
	else
		fs_reclaim_release(GFP_KERNEL);
}

/* Memory that nobody uses. */
unsigned long blog_free_kb(void)
{
	struct sysinfo info;

	si_meminfo(&info);
	return info.freeram << (PAGE_SHIFT - 10);
}

/* What state_letter() of rust/kernel/blog/wire/dump.rs is to say. */
char blog_state_letter(u32 state, u32 exit_state)
{
	return task_index_to_char(__task_state_index(state, exit_state));
}

/* Gives the current task another name, without a hook. */
void blog_test_rename(const char *new, char *old);
void blog_test_rename(const char *new, char *old)
{
	memcpy(old, current->comm, TASK_COMM_LEN);
	memcpy(current->comm, new, TASK_COMM_LEN);
}

/* What the tests of probes probe. */
noinline int blog_test_probed(u32 number, const void *data, const char *text);
noinline int blog_test_probed(u32 number, const void *data, const char *text)
{
	/* It is neither inlined nor known to do nothing. */
	asm volatile("" : "+r" (number) : "r" (data), "r" (text) : "memory");
	return -number;
}

static void blog_stay_awake(struct work_struct *work)
{
	mdelay(jiffies_to_msecs(2));
}

/*
 * Keeps each CPU from idling for two ticks, one after another: a deferrable timer that is due on
 * any of them fires.
 */
void blog_wake_cpus(void)
{
	struct work_struct work;
	int cpu;

	for_each_online_cpu(cpu) {
		INIT_WORK_ONSTACK(&work, blog_stay_awake);
		queue_work_on(cpu, system_percpu_wq, &work);
		flush_work(&work);
		destroy_work_on_stack(&work);
	}
}
