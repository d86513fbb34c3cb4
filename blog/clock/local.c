// SPDX-License-Identifier: GPL-2.0
/*
 * The clock of the kernel's log, which may be an inline function.
 */
#include <linux/sched/clock.h>
#include <linux/types.h>

#include "../sys/glue.h"

u64 blog_local_clock(void)
{
	return local_clock();
}
