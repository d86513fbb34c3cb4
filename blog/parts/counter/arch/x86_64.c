// SPDX-License-Identifier: GPL-2.0
/* The counter of x86_64, and what it is worth as a clock: see ../counter.h. */
#include <linux/cpufeature.h>
#include <linux/types.h>
#include <asm/tsc.h>

#include "../counter.h"

u32 blog_counter_quality(u32 *khz)
{
	*khz = 0;
	if (!boot_cpu_has(X86_FEATURE_TSC))
		return 0;
	*khz = tsc_khz;
	if (boot_cpu_has(X86_FEATURE_CONSTANT_TSC) && boot_cpu_has(X86_FEATURE_NONSTOP_TSC) &&
	    tsc_khz && !check_tsc_unstable())
		return 2;
	return 1;
}

bool blog_counter_unstable(void)
{
	return check_tsc_unstable();
}

bool blog_counter_sleeps(void)
{
	return !boot_cpu_has(X86_FEATURE_NONSTOP_TSC_S3);
}
