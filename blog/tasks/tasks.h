/* SPDX-License-Identifier: GPL-2.0 */
/* Tasks, and the locks of their tables: between tasks.c and mod.rs. */

#ifndef BLOG_TASKS_H
#define BLOG_TASKS_H

#include <linux/types.h>

struct task_struct;

/* Fields of a task; struct TaskFacts of mod.rs. */
struct blog_task_facts {
	u64 start_time;
	u64 self_exec_id;
	u64 comm[2];
	s32 pid;
	s32 tgid;
	u32 state;
	u32 exit_state;
	u32 is_kernel;
	u32 on_cpu;
	u32 cpu;
};

u32 blog_context(void);
struct task_struct *blog_current(void);
void blog_task_facts(const struct task_struct *task, struct blog_task_facts *facts);
unsigned long blog_tls_lock(u32 group);
void blog_tls_unlock(u32 group, unsigned long flags);
void blog_tls_sync(void);

#endif
