/* SPDX-License-Identifier: GPL-2.0 */
/* What the Rust side of the clock has of C. */

#ifndef BLOG_CLOCK_H
#define BLOG_CLOCK_H

#include <linux/types.h>

extern u8 blog_clock_is_counter;
u64 blog_local_clock(void);

#endif
