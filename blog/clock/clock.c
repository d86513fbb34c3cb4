// SPDX-License-Identifier: GPL-2.0
/* What log calls read of the clock, and a clock that may be an inline function: see mod.rs. */

#include <linux/cache.h>
#include <linux/export.h>
#include <linux/sched/clock.h>

#include "clock.h"

/*
 * 1 where the clock is the counter: a part sets it before anything can log; it may become 0 while
 * calls run. Each component refers to it: so a module that has one is loaded after BLog, which its
 * loading calls then.
 */
u8 blog_clock_is_counter __read_mostly;
EXPORT_SYMBOL_GPL(blog_clock_is_counter);

/* The clock of the kernel's log */
u64 blog_local_clock(void)
{
	return local_clock();
}
