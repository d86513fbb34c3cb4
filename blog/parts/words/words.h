/* SPDX-License-Identifier: GPL-2.0 */
/* What the C and the Rust side of last words call of each other. */

#ifndef BLOG_WORDS_H
#define BLOG_WORDS_H

#include <linux/types.h>

struct task_struct;

/* In Rust, called from C. */
void blog_last_words(u32 why, struct task_struct *tsk);

/* In C, called from Rust. */
bool blog_words_due(u32 why);
void blog_words_hung(struct task_struct *tsk);
void blog_words_start(void);
size_t blog_pack_room(void);
size_t blog_pack(void *room, const void *from, size_t len, void *to, size_t size);
void blog_words_print(const char *line, u32 len);

#endif
