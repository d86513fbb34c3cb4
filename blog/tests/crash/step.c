// SPDX-License-Identifier: GPL-2.0
/*
 * A crash in the middle of a log call, at a chosen instruction.
 *
 * A thread sets the trap flag, and logs: after each instruction, be it in the driver's code or in
 * blog, the CPU raises a debug exception, whose handler counts. At the chosen instruction it stays,
 * interrupts off, until an NMI comes. That NMI either is the crash (unknown_nmi_panic), or, with
 * "every", lets the thread go on to the next place: so the hypervisor can take many dumps of one
 * log call.
 *
 * Scene "record": the count starts with the log call. Scene "turn": it starts at
 * blog_reserve(), where a call goes that has no room left in its page.
 */

#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <asm/debugreg.h>
#include <asm/processor-flags.h>

#include "blog_crash.h"

static struct task_struct *crash_stepper;
static bool crash_turn;
/* Instructions of this call, and the number of the next one to stop at. */
static unsigned int crash_count, crash_next;
/* The call has come to where counting starts. */
static bool crash_counting;
/* Calls that were stopped in. */
static unsigned int crash_stops;

/* What there is to say of a stop. */
static unsigned long crash_ip;
static u64 crash_published;

/* Raised by NMIs. */
static atomic_t crash_go;

bool crash_step_text(char *text, size_t size)
{
	if (!crash_stepper || !crash_count)
		return false;
	snprintf(text, size, "blog_crash: step %u published %llu at %pS", crash_count,
		 crash_published, (void *)crash_ip);
	return true;
}

static void crash_stop_here(struct pt_regs *regs)
{
	int gone = atomic_read(&crash_go);

	crash_ip = regs->ip;
	crash_published = blog_crash_published(current);
	crash_stops++;
	crash_tell_here();
	while (atomic_read(&crash_go) == gone)
		cpu_relax();
}

/* In the debug exception, which the kernel treats like an NMI. */
static int crash_step(struct notifier_block *block, unsigned long what, void *data)
{
	struct die_args *args = data;

	if (what != DIE_DEBUG || current != READ_ONCE(crash_stepper) || user_mode(args->regs))
		return NOTIFY_DONE;
	if (!(*(unsigned long *)ERR_PTR(args->err) & DR_STEP))
		return NOTIFY_DONE;
	if (!crash_turn || args->regs->ip == (unsigned long)blog_reserve)
		crash_counting = true;
	if (crash_counting && ++crash_count == crash_next) {
		crash_stop_here(args->regs);
		crash_next += param_every;
	}
	return NOTIFY_STOP;
}

static struct notifier_block crash_step_block = { .notifier_call = crash_step };

static int crash_nmi(unsigned int type, struct pt_regs *regs)
{
	atomic_inc(&crash_go);
	return NMI_HANDLED;
}

static __always_inline void crash_trap(bool on)
{
	unsigned long flags;

	asm volatile("pushfq; popq %0" : "=r" (flags), ASM_CALL_CONSTRAINT : : "memory");
	flags = on ? flags | X86_EFLAGS_TF : flags & ~X86_EFLAGS_TF;
	asm volatile("pushq %1; popfq" : ASM_CALL_CONSTRAINT : "r" (flags) : "memory", "cc");
}

/* One log call, counted. */
static noinline void crash_step_note(struct crash_writer *writer)
{
	crash_count = 0;
	crash_counting = false;
	crash_next = param_at;
	crash_trap(true);
	crash_note(writer, CRASH_COMPLETES);
	crash_trap(false);
}

static int crash_step_thread(void *data)
{
	struct crash_writer *writer = data;

	crash_writer_is_me(writer, "task");
	while (writer->records < param_records)
		crash_note(writer, CRASH_WORKS);
	/* Until a call is long enough. */
	while (!crash_stops)
		crash_step_note(writer);
	crash_count = 0;
	crash_at_place();
	test_nap(MAX_SCHEDULE_TIMEOUT);
	return 0;
}

int crash_steps(bool turn)
{
	int ret = register_die_notifier(&crash_step_block);

	crash_turn = turn;
	if (!ret && param_every)
		ret = register_nmi_handler(NMI_UNKNOWN, crash_nmi, 0, "blog_crash");
	if (ret)
		return ret;
	return test_start(&crash_stepper, 0, crash_step_thread, crash_writer_new(), "crash_step");
}
