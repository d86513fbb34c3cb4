/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What hits.c and mod.rs call of each other.
 */

#ifndef BLOG_HITS_H
#define BLOG_HITS_H

#include <linux/types.h>

/* What is reached; HookKind of parse.rs. */
enum blog_hook_kind {
	BLOG_HOOK_INSTRUCTION,
	BLOG_HOOK_RETURN,
	BLOG_HOOK_TRACEPOINT,
};

/* The most words of a probe; WORDS of parse.rs. */
#define BLOG_PROBE_WORDS 11

struct blog_hook;
struct task_struct;

/* In mod.rs; @words has as many as the probe takes. Any context. */
void blog_probe_hit(const void *probe, const u64 *words);

/* In C, called from Rust. */
struct blog_hook *blog_hook_start(enum blog_hook_kind kind, const char *symbol, size_t len,
				  u32 offset, u32 words, const void *probe);
u64 blog_hook_missed(const struct blog_hook *hook);
u64 blog_hook_stop(struct blog_hook *hook);
const char *blog_comm(const struct task_struct *task);

#endif
