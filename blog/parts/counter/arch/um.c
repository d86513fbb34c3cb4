// SPDX-License-Identifier: GPL-2.0
/*
 * The counter of x86_64 in user mode Linux, which has the x86 configuration symbols
 * but no hardware: BLog asks the processor, and measures. See ../counter.h.
 */
#include <linux/bits.h>
#include <linux/math64.h>
#include <linux/processor.h>
#include <linux/time-internal.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

#include "../counter.h"

/* While the kernel boots, its own clocks may lose time. The host's is for what is built in. */
#ifdef MODULE
#define blog_host_ns() ktime_get_mono_fast_ns()
#else
#include <os.h>
#define blog_host_ns() os_nsecs()
#endif

#define BLOG_MEASURED_NS   20000000
#define BLOG_CPUID_POWER   0x80000007
#define BLOG_INVARIANT_TSC BIT(8)

bool blog_counter_unstable(void)
{
	return false;
}

bool blog_counter_sleeps(void)
{
	return true;
}

static u64 blog_counter(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return (u64)high << 32 | low;
}

/* Each processor with 64 bits has that leaf. */
static u32 blog_cpuid_edx(u32 leaf)
{
	u32 ebx, ecx = 0, edx;

	asm volatile("cpuid" : "+a" (leaf), "=b" (ebx), "+c" (ecx), "=d" (edx));
	return edx;
}

u32 blog_counter_quality(u32 *khz)
{
	u64 tsc, from, ns;

	*khz = 0;
	/* The guest's time is not that of the processor. */
	if (time_travel_mode != TT_MODE_OFF)
		return 0;
	from = blog_host_ns();
	tsc = blog_counter();
	do {
		cpu_relax();
		ns = blog_host_ns() - from;
	} while (ns < BLOG_MEASURED_NS);
	*khz = div64_u64((blog_counter() - tsc) * 1000000, ns);
	return blog_cpuid_edx(BLOG_CPUID_POWER) & BLOG_INVARIANT_TSC ? 2 : 1;
}
