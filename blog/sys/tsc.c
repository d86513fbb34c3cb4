// SPDX-License-Identifier: GPL-2.0
/*
 * The time stamp counter as the clock of records: whether it can be trusted,
 * and its rate.
 *
 * The kernel knows both on real hardware. User mode Linux is a process with the
 * x86 configuration symbols but no hardware; the counter works in a process,
 * too, so there the processor is asked, and the rate measured once.
 */
#include <linux/types.h>

#include "glue.h"

#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)

#include <linux/cpufeature.h>
#include <asm/tsc.h>

notrace u64 blog_clock_tsc(void)
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
	if (boot_cpu_has(X86_FEATURE_CONSTANT_TSC) &&
	    boot_cpu_has(X86_FEATURE_NONSTOP_TSC) &&
	    tsc_khz && !check_tsc_unstable())
		return 2;
	return 1;
}

/* Whether that was a mistake, as the kernel has found out by now. */
bool blog_tsc_unstable(void)
{
	return check_tsc_unstable();
}

#elif defined(CONFIG_X86_64)

#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>
#include <linux/time-internal.h>

/* How long the rate is measured, and how often the clocks are compared. */
#define BLOG_TSC_MS	20
#define BLOG_TSC_TRIES	8

#define BLOG_CPUID_MAX	0x80000000
#define BLOG_CPUID_POWER	0x80000007
#define BLOG_INVARIANT_TSC	BIT(8)

notrace u64 blog_clock_tsc(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return (u64)high << 32 | low;
}

static u32 blog_cpuid(u32 leaf, u32 *edx)
{
	u32 eax = leaf, ebx, ecx = 0;

	asm volatile("cpuid" : "+a" (eax), "=b" (ebx), "+c" (ecx), "=d" (*edx));
	return eax;
}

/* Both clocks at one instant: the closest of a few tries. */
static void blog_tsc_pair(u64 *tsc, u64 *ns)
{
	u64 best = U64_MAX;
	int i;

	for (i = 0; i < BLOG_TSC_TRIES; i++) {
		u64 before = blog_clock_tsc();
		u64 now = ktime_get_raw_ns();
		u64 after = blog_clock_tsc();

		if (after - before < best) {
			best = after - before;
			*tsc = before + best / 2;
			*ns = now;
		}
	}
}

static u32 blog_tsc_measure(void)
{
	u64 tsc[2], ns[2];

	blog_tsc_pair(&tsc[0], &ns[0]);
	msleep(BLOG_TSC_MS);
	blog_tsc_pair(&tsc[1], &ns[1]);
	if (ns[1] <= ns[0])
		return 0;
	return mul_u64_u64_div_u64(tsc[1] - tsc[0], NSEC_PER_MSEC, ns[1] - ns[0]);
}

u32 blog_tsc_quality(u32 *khz)
{
	static DEFINE_MUTEX(lock);
	static u32 measured;
	u32 edx;

	*khz = 0;
	/* The guest's time is not that of the processor. */
	if (time_travel_mode != TT_MODE_OFF)
		return 0;
	mutex_lock(&lock);
	if (!measured)
		measured = blog_tsc_measure();
	*khz = measured;
	mutex_unlock(&lock);
	if (*khz && blog_cpuid(BLOG_CPUID_MAX, &edx) >= BLOG_CPUID_POWER) {
		blog_cpuid(BLOG_CPUID_POWER, &edx);
		if (edx & BLOG_INVARIANT_TSC)
			return 2;
	}
	return 1;
}

bool blog_tsc_unstable(void)
{
	return false;
}

#else

notrace u64 blog_clock_tsc(void)
{
	return 0;
}

u32 blog_tsc_quality(u32 *khz)
{
	*khz = 0;
	return 0;
}

bool blog_tsc_unstable(void)
{
	return false;
}

#endif
