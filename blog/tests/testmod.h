/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the modules of BLog's tests: parameters, threads, and NMIs.
 */
#ifndef BLOG_TESTMOD_H
#define BLOG_TESTMOD_H

#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>

#if defined(CONFIG_X86_LOCAL_APIC) && !defined(CONFIG_UML)
#define TEST_HAS_NMI
/* linux/nmi.h, for watchdogs, has it only now and then. */
#include "asm/nmi.h"
#endif

/* A number that who loads the module may choose. It declares param_NAME in its header. */
#define TEST_PARAM(name, value, mode, text)                 \
	unsigned int param_##name = (value);                \
	module_param_named(name, param_##name, uint, mode); \
	MODULE_INFO(parm, #name ":" text)

/* Starts a thread; on one CPU, unless that is -1. */
static inline __printf(5, 6) int test_start(struct task_struct **task, int cpu,
					    int (*work)(void *data), void *data, const char *name,
					    ...)
{
	struct task_struct *made;
	char text[32];
	va_list args;

	va_start(args, name);
	vsnprintf(text, sizeof(text), name, args);
	va_end(args);
	made = kthread_create(work, data, "%s", text);
	if (IS_ERR(made))
		return PTR_ERR(made);
	if (cpu >= 0)
		kthread_bind(made, cpu);
	if (task)
		*task = made;
	wake_up_process(made);
	return 0;
}

/* Ends a thread, if there is one. */
static inline void test_stop(struct task_struct **task)
{
	if (*task)
		kthread_stop(*task);
	*task = NULL;
}

/* Sleeps until the thread is to stop, or the time is over. */
static inline void test_nap(long time)
{
	set_current_state(TASK_INTERRUPTIBLE);
	while (time && !kthread_should_stop()) {
		time = schedule_timeout(time);
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
}

#endif
