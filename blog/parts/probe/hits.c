// SPDX-License-Identifier: GPL-2.0
/*
 * Places in the kernel that call BLog whenever they are reached: kprobes, kretprobes,
 * and functions of tracepoints.
 */

#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/hardirq.h>
#include <linux/kallsyms.h>
#include <linux/kconfig.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../sys/glue.h"
#include "hits.h"

struct blog_hook {
	/* The argument of blog_probe_hit(), and the number of words that it takes. */
	const void *probe;
	u32 words;
	enum blog_hook_kind kind;
	/* A tracepoint uses only the name in it. */
	struct kretprobe rp;
	char symbol[KSYM_NAME_LEN];
};

#ifdef CONFIG_KPROBES
/*
 * On x86, a breakpoint counts as an NMI, whatever runs into it: taken back, the record is in the
 * ring of that. This needs NMIs in NMIs to be counted in preempt_count(). Where they are counted
 * elsewhere, on riscv64, say, the record is in the ring of NMIs: the end of a nested one would
 * leave preempt_count() as if this were one.
 *
 * Interrupts are off. A kprobe on ftrace is called. So is one that was made a jump; if that is in
 * an NMI, the record goes to the ring of what the NMI has interrupted, as any kprobe in a log call
 * might, which finds that ring busy.
 */
static int blog_hook_reached(struct kprobe *kp, struct pt_regs *regs)
{
	struct blog_hook *hook = container_of(kp, struct blog_hook, rp.kp);
	u64 words[BLOG_PROBE_WORDS];
	unsigned long trap = 0;
	u32 i;

	for (i = 0; i < hook->words; i++)
		words[i] = regs_get_kernel_argument(regs, i);
	if (IS_ENABLED(CONFIG_X86_64) && IS_ENABLED(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS) &&
	    !kprobe_ftrace(kp) && (preempt_count() & NMI_MASK) == NMI_OFFSET)
		trap = NMI_OFFSET + HARDIRQ_OFFSET;
	__preempt_count_sub(trap);
	blog_probe_hit(hook->probe, words);
	__preempt_count_add(trap);
	return 0;
}
NOKPROBE_SYMBOL(blog_hook_reached);
#endif

#ifdef CONFIG_KRETPROBES
static int blog_hook_returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);
	u64 word = regs_return_value(regs);

	if (rp)
		blog_probe_hit(container_of(rp, struct blog_hook, rp)->probe, &word);
	return 0;
}
NOKPROBE_SYMBOL(blog_hook_returned);
#endif

/*
 * For any tracepoint: it passes its arguments in registers and then on the stack. The words after
 * them are whatever is there: on the stack, what the caller has below the first frame's registers.
 */
static notrace void blog_hook_traced(void *data, unsigned long a1, unsigned long a2,
				     unsigned long a3, unsigned long a4, unsigned long a5,
				     unsigned long a6, unsigned long a7, unsigned long a8,
				     unsigned long a9, unsigned long a10, unsigned long a11)
{
	const u64 words[BLOG_PROBE_WORDS] = { a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11 };
	const struct blog_hook *hook = data;

	blog_probe_hit(hook->probe, words);
}

static int blog_hook_register(struct blog_hook *hook)
{
	switch (hook->kind) {
#ifdef CONFIG_KPROBES
	case BLOG_HOOK_INSTRUCTION:
		hook->rp.kp.pre_handler = blog_hook_reached;
		return register_kprobe(&hook->rp.kp);
#endif
#ifdef CONFIG_KRETPROBES
	case BLOG_HOOK_RETURN:
		hook->rp.handler = blog_hook_returned;
		return register_kretprobe(&hook->rp);
#endif
	case BLOG_HOOK_TRACEPOINT:
		/* CFI would reject this prototype. */
		if (IS_ENABLED(CONFIG_CFI))
			return -EOPNOTSUPP;
		return blog_tracepoint_attach(hook->rp.kp.symbol_name, blog_hook_traced, hook);
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * Has a place call blog_probe_hit() with @probe and @words words, from now on. @symbol, of @len
 * bytes, is a function or a tracepoint; @probe stays until it is stopped. Returns an error pointer
 * if it can't be.
 */
struct blog_hook *blog_hook_start(enum blog_hook_kind kind, const char *symbol, size_t len,
				  u32 offset, u32 words, const void *probe)
{
	int err = security_locked_down(LOCKDOWN_KPROBES);

	if (err)
		return ERR_PTR(err);
	struct blog_hook *hook __free(kfree) = kzalloc(sizeof(*hook), GFP_KERNEL);

	if (!hook)
		return ERR_PTR(-ENOMEM);
	if (len >= sizeof(hook->symbol))
		return ERR_PTR(-ENOENT);
	hook->kind = kind;
	hook->probe = probe;
	hook->words = words;
	hook->rp.kp.symbol_name = memcpy(hook->symbol, symbol, len);
	hook->rp.kp.offset = offset;
	err = blog_hook_register(hook);
	if (err)
		return ERR_PTR(err);
	return_ptr(hook);
}

/* Hits that made no call: in another kprobe, or by too many callers at a time. */
u64 blog_hook_missed(const struct blog_hook *hook)
{
	return (u64)READ_ONCE(hook->rp.kp.nmissed) + (u32)READ_ONCE(hook->rp.nmissed);
}

/* Stops it, waits for running calls, and frees it. Returns the number of hits without a call. */
u64 blog_hook_stop(struct blog_hook *hook)
{
	u64 missed;

	switch (hook->kind) {
	case BLOG_HOOK_INSTRUCTION:
		unregister_kprobe(&hook->rp.kp);
		break;
	case BLOG_HOOK_RETURN:
		unregister_kretprobe(&hook->rp);
		break;
	case BLOG_HOOK_TRACEPOINT:
		blog_tracepoint_detach(hook->rp.kp.symbol_name, blog_hook_traced, hook);
		break;
	}
	missed = blog_hook_missed(hook);
	kfree(hook);
	return missed;
}

notrace const char *blog_comm(const struct task_struct *task)
{
	return task->comm;
}
