// SPDX-License-Identifier: GPL-2.0
/* Clocks of the kernel that may be inline functions, and what log calls read of BLog's clock. */

#include <linux/cache.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/sched/clock.h>

#include "clock.h"

/*
 * 1 where the clock is the counter: set before anything can log; it may become 0 while calls run.
 * Each component refers to it: so a module that has one is loaded after BLog, which its loading
 * calls then.
 */
u8 blog_clock_is_counter __read_mostly;
EXPORT_SYMBOL_GPL(blog_clock_is_counter);

/* The clock of the kernel's log */
u64 blog_local_clock(void)
{
	return local_clock();
}

void blog_with_irqs_off(void (*f)(void))
{
	unsigned long flags;

	local_irq_save(flags);
	f();
	local_irq_restore(flags);
}
