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

/* Where a task has what; struct TaskLayout of rust/kernel/blog/wire/dump.rs. */
struct blog_task_layout {
	u32 size;
	u32 pid;
	u32 tgid;
	u32 comm;
	u32 state;
	u32 exit_state;
	u32 flags;
	u32 on_cpu;
	u32 cpu;
	u32 blog_tls;
	u32 tasks;
	u32 thread_node;
	u32 signal;
	u32 thread_head;
	u32 group_leader;
	u32 stack;
	u32 last_switch_time;
	u32 blocker;
};

extern const struct blog_task_layout blog_task_layout;

u32 blog_context(void);
struct task_struct *blog_current(void);
void blog_task_facts(const struct task_struct *task, struct blog_task_facts *facts);
unsigned long blog_tls_lock(u32 group);
void blog_tls_unlock(u32 group, unsigned long flags);
void blog_tls_sync(void);

#endif
