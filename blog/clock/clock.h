/* SPDX-License-Identifier: GPL-2.0 */
/* What the C and the Rust side of this folder call of each other. */

#ifndef BLOG_CLOCK_H
#define BLOG_CLOCK_H

#include <linux/types.h>

/* suspend.rs */
void blog_clock_note(void);
void blog_clock_suspends(void);
void blog_clock_resumes(void);

/* suspend.c */
void blog_start_suspend(void);
void blog_stop_suspend(void);

/* tsc.c */
u32 blog_tsc_quality(u32 *khz);
u64 blog_tsc(void);
bool blog_tsc_unstable(void);
bool blog_tsc_sleeps(void);
u64 blog_local_clock(void);

#endif
