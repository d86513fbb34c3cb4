// SPDX-License-Identifier: GPL-2.0
/*
 * Clocks that the kernel crate can't read: that of the kernel's log; and the time
 * stamp counter, whether it can be trusted as the clock of records, and its rate.
 *
 * On hardware, the kernel knows both. User mode Linux is a process with the x86
 * configuration symbols but no hardware; the counter works in a process, too, so
 * BLog asks the processor there.
 */
#include <linux/bits.h>
#include <linux/sched/clock.h>
#include <linux/types.h>

#include "../sys/glue.h"

u64 blog_local_clock(void)
{
	return local_clock();
}

#ifndef CONFIG_UML

#include <linux/cpufeature.h>
#include <asm/tsc.h>

notrace u64 blog_tsc(void)
{
	return rdtsc();
}

/*
 * What the TSC is worth as a clock: 0 there is none, 1 it is there but may
 * stop, change its rate or differ between CPUs, 2 it may be used.
 */
u32 blog_tsc_quality(u32 *khz)
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

/* Whether that was a mistake, as the kernel has found out by now. */
bool blog_tsc_unstable(void)
{
	return check_tsc_unstable();
}

/* Whether it stops when the machine sleeps in RAM, or starts again. */
bool blog_tsc_sleeps(void)
{
	return !boot_cpu_has(X86_FEATURE_NONSTOP_TSC_S3);
}

#else

#include <linux/math64.h>
#include <linux/processor.h>
#include <linux/time-internal.h>
#include <linux/timekeeping.h>

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

bool blog_tsc_unstable(void)
{
	return false;
}

bool blog_tsc_sleeps(void)
{
	return true;
}

notrace u64 blog_tsc(void)
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

u32 blog_tsc_quality(u32 *khz)
{
	u64 tsc, from, ns;

	*khz = 0;
	/* The guest's time is not that of the processor. */
	if (time_travel_mode != TT_MODE_OFF)
		return 0;
	from = blog_host_ns();
	tsc = blog_tsc();
	do {
		cpu_relax();
		ns = blog_host_ns() - from;
	} while (ns < BLOG_MEASURED_NS);
	*khz = div64_u64((blog_tsc() - tsc) * 1000000, ns);
	return blog_cpuid_edx(BLOG_CPUID_POWER) & BLOG_INVARIANT_TSC ? 2 : 1;
}

#endif
