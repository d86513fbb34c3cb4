/* SPDX-License-Identifier: GPL-2.0 */
/* What log calls read of the CPU, as this kernel names it, for the assembler. */

#ifndef BLOG_CPU_H
#define BLOG_CPU_H

/* In Kbuild: offsets.c gives the numbers. */
#include "offsets.h"

#ifdef BLOG_HAS_PCPU_HOT
#define BLOG_CURRENT	   (pcpu_hot + BLOG_HOT_CURRENT)
#define BLOG_PREEMPT_COUNT (pcpu_hot + BLOG_HOT_PREEMPT_COUNT)
#define BLOG_CPU	   (pcpu_hot + BLOG_HOT_CPU)
#else
#ifdef BLOG_HAS_CONST_CURRENT
#define BLOG_CURRENT const_current_task
#else
#define BLOG_CURRENT current_task
#endif
#define BLOG_PREEMPT_COUNT __preempt_count
#define BLOG_CPU	   cpu_number
#endif

#endif
