// SPDX-License-Identifier: GPL-2.0
/* Numbers that the assembler needs, as this kernel's headers have them. */

#include <linux/kbuild.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <asm/current.h>

void blog_offsets(void);

void blog_offsets(void)
{
	DEFINE(BLOG_HARDIRQ_MASK, HARDIRQ_MASK);
	DEFINE(BLOG_NMI_MASK, NMI_MASK);
	DEFINE(BLOG_INTERRUPT_MASK, HARDIRQ_MASK | NMI_MASK | SOFTIRQ_OFFSET);
#ifdef CONFIG_ARM64
	OFFSET(BLOG_TASK_CPU, task_struct, thread_info.cpu);
	OFFSET(BLOG_TASK_PREEMPT_COUNT, task_struct, thread_info.preempt.count);
#endif
#ifdef BLOG_HAS_PCPU_HOT
	OFFSET(BLOG_HOT_CURRENT, pcpu_hot, current_task);
	OFFSET(BLOG_HOT_PREEMPT_COUNT, pcpu_hot, preempt_count);
	OFFSET(BLOG_HOT_CPU, pcpu_hot, cpu_number);
#endif
}
