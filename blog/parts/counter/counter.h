/* SPDX-License-Identifier: GPL-2.0 */
/* Between the files in C and in Rust of the counter. */

#ifndef BLOG_COUNTER_H
#define BLOG_COUNTER_H

#include <linux/types.h>

/* In counter.c */
extern char *blog_param_clock;
unsigned long blog_lock_pairs(void);
void blog_unlock_pairs(unsigned long flags);
void blog_start_suspend(void);

/* In Rust, called by counter.c */
void blog_clock_note(void);
void blog_clock_sleeps(bool awoken);

/*
 * The counter of the processor: a file in arch/ for each architecture.
 *
 * What it is worth as a clock, in process context: 0 there is none, 1 it is there but may stop,
 * change its rate or differ between CPUs, 2 it may be used. Then, in any context: whether 2 was a
 * mistake, as the kernel has found out by now; whether it stops when the machine sleeps in RAM, or
 * starts again.
 */
u32 blog_counter_quality(u32 *khz);
bool blog_counter_unstable(void);
bool blog_counter_sleeps(void);

#endif
