/* SPDX-License-Identifier: GPL-2.0 */
/* What the built-in part of last words gives the logger. */

#ifndef BLOG_WORDS_HOOK_H
#define BLOG_WORDS_HOOK_H

#include <linux/types.h>

/* As Why of format.rs numbers them. */
enum { BLOG_PANIC, BLOG_OOPS, BLOG_HANG, BLOG_STUCK };

#ifdef CONFIG_BLOG_HOOKS
void blog_words_on_sys_info(void (*hook)(void));
bool blog_words_wanted(u32 why);
#endif

#endif
