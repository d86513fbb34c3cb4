// SPDX-License-Identifier: GPL-2.0
/* The virtual counter of arm64, and what it is worth as a clock: see ../counter.h. */
#include <linux/cpumask.h>
#include <linux/of.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <asm/arch_timer.h>
#include <asm/sysreg.h>

#include "../counter.h"

/* Whether reads of the counter may be wrong on a CPU that has been there, as the kernel knows. */
bool blog_counter_unstable(void)
{
#if IS_ENABLED(CONFIG_ARM_ARCH_TIMER_OOL_WORKAROUND)
	const struct arch_timer_erratum_workaround *wa;
	int cpu;

	for_each_possible_cpu(cpu) {
		wa = READ_ONCE(per_cpu(timer_unstable_counter_workaround, cpu));
		if (wa && wa->read_cntvct_el0)
			return true;
	}
#endif
	return false;
}

static bool blog_stops;

/*
 * Where the register that has the counter's rate is wrong and the device tree knows the right one,
 * the kernel takes that. BLog then uses no counter.
 */
u32 blog_counter_quality(u32 *khz)
{
	struct device_node *timer = of_find_compatible_node(NULL, NULL, "arm,armv8-timer");
	u32 hz = arch_timer_get_cntfrq(), known = hz;

	blog_stops = of_property_read_bool(timer, "arm,no-tick-in-suspend");
	of_property_read_u32(timer, "clock-frequency", &known);
	of_node_put(timer);
	*khz = hz / 1000;
	return hz && known == hz && !blog_counter_unstable() ? 2 : 0;
}

bool blog_counter_sleeps(void)
{
	return blog_stops;
}
