// SPDX-License-Identifier: GPL-2.0
/* What the kernel crate lacks and several floors need. */

#include <linux/cache.h>
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/sched/clock.h>

#include "glue.h"

/*
 * 1 where the clock is the counter: a part sets it before anything can log; it may become 0 while
 * calls run. Each component refers to it: so a module that has one is loaded after BLog, which its
 * loading calls then.
 */
u8 blog_clock_is_counter __read_mostly;
EXPORT_SYMBOL_GPL(blog_clock_is_counter);

/* The clock of the kernel's log, which may be an inline function. */
u64 blog_local_clock(void)
{
	return local_clock();
}

/* Waits for others who are faster than that. Process context. */
void blog_pause(void)
{
	fsleep(100);
}
