/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As linux/kernel.h of older kernels has it, which can't be included here: a captured driver's
 * printk.h includes this, and kernel.h needs that.
 */
#define __CONCAT(a, b) a ## b
#define CONCATENATE(a, b) __CONCAT(a, b)
