// SPDX-License-Identifier: GPL-2.0
/* The bits of preempt_count() are as the crate that drivers see has them: kernel.rs. */

#include <linux/build_bug.h>
#include <linux/kconfig.h>
#include <linux/preempt.h>

#define BLOG_NMI_BITS (IS_ENABLED(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS) ? 0xf : 1)

static_assert(SOFTIRQ_OFFSET == 1UL << 8);
static_assert(HARDIRQ_MASK == 0xfUL << 24);
static_assert(NMI_MASK == (unsigned long)BLOG_NMI_BITS << 28);
