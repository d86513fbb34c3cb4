// SPDX-License-Identifier: GPL-2.0
/*
 * An architecture without a file of its own: there is no counter that every log
 * call may read. See ../counter.h.
 */
#include <linux/types.h>

#include "../counter.h"

u32 blog_counter_quality(u32 *khz)
{
	*khz = 0;
	return 0;
}

bool blog_counter_unstable(void)
{
	return false;
}

bool blog_counter_sleeps(void)
{
	return true;
}
