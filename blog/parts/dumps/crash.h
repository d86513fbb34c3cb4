/* SPDX-License-Identifier: GPL-2.0 */
/* Crashes, and what crash tools find: between the files in C here and in Rust. */

#ifndef BLOG_CRASH_H
#define BLOG_CRASH_H

#include <linux/types.h>

struct task_struct;

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

/* layout.c: jiffies in a second */
u32 blog_hz(void);

/* In rust/kernel/blog/root.rs: where crash tools start, and its freeze. */
void blog_root_freeze(u64 counter, u64 mono, u64 boot, u64 real, u64 local, u32 cpu,
		      const struct task_struct *tsk, s32 pid, s32 tgid, const char *comm);

/* crash.c with patches to the core kernel, crashless.c without. */
void blog_start_crash_hook(void);

/* On kernels without patches: what crashless.c calls. */
void blog_note_tasks(void);

#endif
