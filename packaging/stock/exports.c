// SPDX-License-Identifier: GPL-2.0
/* Exports symbols of the crate blog_kernel to drivers, as the kernel does with its own crate. */

#include <linux/build_bug.h>
#include <linux/export.h>
#include <linux/kconfig.h>
#include <linux/module.h>
#include <linux/preempt.h>

#include "exports_generated.h"

/* Each driver refers to it: one that was built for another BLog is not loaded. */
extern const char BLOG_ABI;
const char BLOG_ABI;
EXPORT_SYMBOL_GPL(BLOG_ABI);

/* As in rust/kernel/lib.rs */
#define BLOG_NMI_BITS (IS_ENABLED(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS) ? 0xf : 1)

static_assert(SOFTIRQ_OFFSET == 1UL << 8);
static_assert(HARDIRQ_MASK == 0xfUL << 24);
static_assert(NMI_MASK == (unsigned long)BLOG_NMI_BITS << 28);

MODULE_VERSION("0.2.0");
