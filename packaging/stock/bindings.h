/* SPDX-License-Identifier: GPL-2.0 */
/* What bindgen makes bindings of that the kernel's own lack. */

#include <linux/preempt.h>

const u32 RUST_CONST_HELPER_BLOG_NMI_MASK = NMI_MASK;
const u32 RUST_CONST_HELPER_BLOG_HARDIRQ_MASK = HARDIRQ_MASK;
const u32 RUST_CONST_HELPER_BLOG_SOFTIRQ_OFFSET = SOFTIRQ_OFFSET;
