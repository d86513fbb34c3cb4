/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the crash module.
 */
#ifndef BLOG_CRASH_H
#define BLOG_CRASH_H

#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "../testmod.h"

/* What a record says; the texts are in crash.rs. */
enum crash_event {
	CRASH_WORKS,
	CRASH_TAKES_A,
	CRASH_HAS_A,
	CRASH_TAKES_B,
	CRASH_HAS_B,
	CRASH_WAITS,
	CRASH_SPINS,
	CRASH_COMPLETES,
};

/*
 * Somebody whose last records matter. Its records count up from 0. Everything
 * here is stored by the writer itself, before it says that it is at its place.
 */
struct crash_writer {
	u32 id;
	const char *context;
	char comm[16];
	int pid;
	int cpu;
	/* Log calls that have returned. */
	u32 records;
};

/* main.c */
extern unsigned int param_records, param_at, param_every, param_spoil;

struct crash_writer *crash_writer_new(void);
void crash_writer_is_me(struct crash_writer *writer, const char *context);
void crash_note(struct crash_writer *writer, enum crash_event event);
void crash_at_place(void);
bool crash_told(void);
void crash_tell(void (*say)(const char *line));

/* serial.c */
void crash_tell_here(void);

/* scenes.c and step.c: each returns when what it starts is running. */
int crash_softirq(void);
int crash_oops(void);
int crash_spoilt(void);
int crash_abba(void);
int crash_lost(void);
int crash_lockup(void);
int crash_blame(void);

#ifdef CONFIG_X86_64
int crash_steps(bool turn);

/* What the stepper is at: nothing to say if it returns false. */
bool crash_step_text(char *text, size_t size);
#else
static inline int crash_steps(bool turn)
{
	return -EOPNOTSUPP;
}

static inline bool crash_step_text(char *text, size_t size)
{
	return false;
}
#endif

/* What blog exports to drivers; only its address is of interest here. */
extern char blog_reserve[];

/* crash.rs */
void blog_crash_log(u32 writer, u32 seq, u32 event);
void blog_crash_noise(u32 writer, u32 seq);
u64 blog_crash_published(struct task_struct *task);
void blog_crash_spoil(struct task_struct *task, u32 which);

#endif
