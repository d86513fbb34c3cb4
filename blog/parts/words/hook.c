// SPDX-License-Identifier: GPL-2.0
/*
 * The built-in part of last words: lib/sys_info.c calls it, and it finds out whether an event has
 * the word "blog". The logger itself may be a module.
 */

#include <linux/blog.h>
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/panic.h>
#include <linux/sys_info.h>

#include "hook.h"

/* Set once, when the logger starts. */
static void (*blog_words_hook)(void);

void blog_words_on_sys_info(void (*hook)(void))
{
	WRITE_ONCE(blog_words_hook, hook);
}
EXPORT_SYMBOL_GPL(blog_words_on_sys_info);

/* Where an event has the word. A panic had its words before, by a notifier. Any context. */
void blog_sys_info(void)
{
	void (*hook)(void);

	hook = READ_ONCE(blog_words_hook);
	if (hook && !panic_in_progress())
		hook();
}

/* Whether an event that doesn't wait for sys_info() is to have words. Any context. */
bool blog_words_wanted(u32 why)
{
	switch (why) {
	case BLOG_PANIC:
		return sys_info_wants(panic_print, SYS_INFO_BLOG);
	case BLOG_OOPS:
		return sys_info_wants(0, SYS_INFO_BLOG);
	default:
		return true;
	}
}
EXPORT_SYMBOL_GPL(blog_words_wanted);
