/* SPDX-License-Identifier: GPL-2.0 */
/* What the Rust side of chains of waits calls. */

#ifndef BLOG_BLAME_H
#define BLOG_BLAME_H

#include <linux/types.h>

struct task_struct;

/* struct Wait of rust/kernel/blog/wire/file.rs */
struct blog_wait {
	u64 lock;
	s32 pid;
	s32 holder;
	u32 kind;
	u32 flags;
};

u32 blog_lock_owner(u32 kind);
struct task_struct *blog_waits(const struct task_struct *task, struct blog_wait *wait);

#endif
