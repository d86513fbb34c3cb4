// SPDX-License-Identifier: GPL-2.0
/*
 * Log calls in the middle of log calls, and in places that no other context
 * reaches: kprobes.
 *
 * Those of kind "nested" are on instructions of blog_torture_fast(), which is a
 * log call, of the functions that write its records, and of the slow path.
 * So a handler's records come between any two steps of another record of the
 * same ring. The others are in functions that the idle task, a CPU that starts
 * or dies, and a task that ends go through.
 *
 * All of them are set before anybody logs, and stay to the end. Handlers of a
 * CPU don't nest: a kprobe in a kprobe's handler is skipped by the kernel.
 */

#include <linux/bitops.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "blog_torture.h"

#if defined(CONFIG_KPROBES) && (defined(CONFIG_X86) || defined(CONFIG_ARM64))

#ifdef CONFIG_X86
#include <linux/text-patching.h>
#endif

static const struct {
	const char *symbol;
	enum torture_kind kind;
} torture_places[] = {
	{ "tick_nohz_idle_enter", TORTURE_IDLE },    { "tick_nohz_idle_exit", TORTURE_IDLE },
	{ "notify_cpu_starting", TORTURE_STARTING }, { "take_cpu_down", TORTURE_DYING },
	{ "exit_files", TORTURE_EXITING },	     { "exit_task_namespaces", TORTURE_EXITING },
};

/* What a log call goes through. */
static struct torture_step {
	const char *symbol;
	kprobe_opcode_t *addr;
} torture_steps[] = {
	{ "blog_torture_fast" },
	{ NULL }, /* the fast path, for each of three formats: torture_find_records() */
	{ NULL },
	{ NULL },
	{ "blog_reserve" },
};

struct torture_probe {
	struct kprobe kp;
	enum torture_kind kind;
};

static struct torture_probe *torture_probes;
static u32 torture_probe_count;
static atomic64_t torture_hits[TORTURE_KINDS];
static DEFINE_PER_CPU(bool, torture_hitting);

u64 torture_probe_hits(enum torture_kind kind)
{
	return atomic64_read(&torture_hits[kind]);
}

/* Any context. Preemption is off, so the CPU stays. */
static int torture_hit(struct kprobe *kp, struct pt_regs *regs)
{
	enum torture_kind kind = container_of(kp, struct torture_probe, kp)->kind;

	atomic64_inc(&torture_hits[kind]);
	__this_cpu_write(torture_hitting, true);
	blog_torture_nested(torture_cpu_writer(kind, raw_smp_processor_id()));
	__this_cpu_write(torture_hitting, false);
	return 0;
}

/*
 * Whether this CPU is in a probe's handler. An NMI must not run into a probe
 * then: the handler may be stepping over another one, and kprobes can't nest
 * three deep ("Unrecoverable kprobe detected").
 */
bool torture_in_probe(void)
{
	return __this_cpu_read(torture_hitting);
}

static int torture_probe(struct torture_step step, unsigned int offset, enum torture_kind kind)
{
	struct torture_probe *probe = &torture_probes[torture_probe_count];
	int ret;

	probe->kp = (struct kprobe){
		.symbol_name = step.symbol,
		.addr = step.addr,
		.offset = offset,
		.pre_handler = torture_hit,
	};
	probe->kind = kind;
	ret = register_kprobe(&probe->kp);
	if (!ret)
		torture_probe_count++;
	return ret;
}

/* The size of the function that starts at addr, from "name+0x0/0x123". */
static unsigned int torture_size(const void *addr, const char *part)
{
	char text[KSYM_SYMBOL_LEN];
	unsigned int size = 0;
	const char *start;

	sprint_symbol(text, (unsigned long)addr);
	start = strstr(text, "+0x0/");
	if (!start || !strstr(text, part) || sscanf(start, "+0x0/0x%x", &size) != 1)
		return 0;
	return size;
}

/* The bytes of a branch, and from where one may start to the next. */
#ifdef CONFIG_ARM64
#define TORTURE_BRANCH 4
#define TORTURE_STEP   4
#else
#define TORTURE_BRANCH 5
#define TORTURE_STEP   1
#endif

/* Where a call or a jump at this address leads to; NULL: it is none. */
static const u8 *torture_branch(const u8 *at)
{
#ifdef CONFIG_ARM64
	u32 insn = le32_to_cpu(*(const __le32 *)at);

	/* BL and B, with an offset of 26 bits in instructions */
	if ((insn & 0x7c000000) == 0x14000000)
		return at + (s64)sign_extend32(insn << 2, 27);
#else
	if (*at == CALL_INSN_OPCODE || *at == JMP32_INSN_OPCODE)
		return at + TORTURE_BRANCH + get_unaligned((const s32 *)(at + 1));
#endif
	return NULL;
}

/*
 * The functions that write records have mangled names: they are those that
 * blog_torture_fast() calls, or jumps to in the end.
 */
static void torture_find_records(struct torture_step *step)
{
	const u8 *at = (const u8 *)blog_torture_fast;
	const u8 *end = at + torture_size(at, "blog_torture_fast");

	for (; at + TORTURE_BRANCH <= end && !step->symbol; at += TORTURE_STEP) {
		const u8 *to = torture_branch(at);

		if (to && torture_size(to, "blog_record"))
			step++->addr = (kprobe_opcode_t *)to;
	}
}

int torture_probes_start(void)
{
	u64 random = torture_seed(3);
	u32 max = ARRAY_SIZE(torture_places) + ARRAY_SIZE(torture_steps) + param_probes;
	unsigned int sizes[ARRAY_SIZE(torture_steps)] = {};
	u32 tries = 100 * param_probes;
	u32 i, nested = 0;

	if (!param_probes)
		return 0;
	torture_probes = kvcalloc(max, sizeof(*torture_probes), GFP_KERNEL);
	if (!torture_probes)
		return -ENOMEM;
	torture_find_records(&torture_steps[1]);
	if (!torture_steps[3].addr) {
		pr_err("blog_torture: the functions that write records aren't found\n");
		torture_probes_stop();
		return -ENOENT;
	}
	for (i = 0; i < ARRAY_SIZE(torture_places); i++)
		if (param_places & BIT(i) &&
		    torture_probe((struct torture_step){ torture_places[i].symbol }, 0,
				  torture_places[i].kind))
			pr_info("blog_torture: no probe in %s\n", torture_places[i].symbol);
	for (i = 0; i < ARRAY_SIZE(torture_steps); i++) {
		/* The slow path has other names in other versions. */
		if (torture_probe(torture_steps[i], 0, TORTURE_NESTED))
			continue;
		sizes[i] = torture_size(torture_probes[torture_probe_count - 1].kp.addr, "");
		nested++;
	}
	/* An offset that is in the middle of an instruction is refused. */
	while (tries-- && nested < param_probes) {
		i = torture_random(&random) % ARRAY_SIZE(torture_steps);
		if (sizes[i] && !torture_probe(torture_steps[i], torture_random(&random) % sizes[i],
					       TORTURE_NESTED))
			nested++;
	}
	pr_info("blog_torture: %u probes, %u of them in log calls\n", torture_probe_count, nested);
	return nested ? 0 : -ENOENT;
}

void torture_probes_stop(void)
{
	while (torture_probe_count)
		unregister_kprobe(&torture_probes[--torture_probe_count].kp);
	kvfree(torture_probes);
	torture_probes = NULL;
}

#else

bool torture_in_probe(void)
{
	return false;
}

u64 torture_probe_hits(enum torture_kind kind)
{
	return 0;
}

int torture_probes_start(void)
{
	return 0;
}

void torture_probes_stop(void)
{
}

#endif
