/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the torture module.
 *
 * A writer is whatever logs under a number of its own: a task, the timer of a
 * CPU, NMIs on a CPU. Its records carry its number and count up for each
 * component, so a reader knows for each component and writer which records there
 * were.
 */
#ifndef BLOG_TORTURE_H
#define BLOG_TORTURE_H

#include <linux/types.h>

#include "../testmod.h"

struct dentry;
struct seq_file;

/* What kind of context a writer runs in; names are in truth.c. */
enum torture_kind {
	/* One for each CPU: those before TORTURE_WORKER. */
	TORTURE_TIMER,
	TORTURE_TASKLET,
	TORTURE_HRTIMER,
	TORTURE_IRQWORK,
	TORTURE_IPI,
	TORTURE_NMI,
	TORTURE_NESTED,
	TORTURE_IDLE,
	TORTURE_STARTING,
	TORTURE_DYING,
	TORTURE_EXITING,
	TORTURE_HOTPLUG,
	/* One for each task. */
	TORTURE_WORKER,
	TORTURE_HISTORY,
	TORTURE_CROWD,
	TORTURE_STORM,
	TORTURE_USER,
	TORTURE_KINDS
};

struct torture_writer {
	pid_t pid;
	u16 cpu;
	u8 kind;
};

/* Parameters, in main.c */
extern unsigned int param_seconds, param_workers, param_burst, param_pause_us;
extern unsigned int param_payload, param_storm, param_storm_max, param_crowd;
extern unsigned int param_crowd_records, param_instances, param_renew_ms, param_history_us;
extern unsigned int param_irq_us, param_ipi_us, param_onoff_ms, param_unstable_ms;
extern unsigned int param_syscore_ms, param_race;
extern unsigned int param_probes, param_places, param_run, param_seed;

/* main.c */
enum torture_state {
	TORTURE_RUNNING,
	TORTURE_STOPPING,
	TORTURE_DONE,
};

enum torture_state torture_state(void);
void torture_stop_now(void);
void torture_error(const char *fmt, ...) __printf(1, 2);
u64 torture_seed(u32 number);
u32 torture_random(u64 *state);

/* truth.c: writers, and what they have logged */
int torture_writers_init(void);
void torture_writers_exit(void);
int torture_truth_init(void);
void torture_truth_exit(void);
u32 torture_cpu_writer(enum torture_kind kind, unsigned int cpu);
int torture_task_writer(enum torture_kind kind);
bool torture_writers_left(void);
void torture_writer_is_me(u32 writer);
u64 torture_kind_total(enum torture_kind kind);
u64 torture_target_total(u32 target);
const char *torture_kind_name(enum torture_kind kind);

/* tasks.c */
int torture_tasks_start(void);
void torture_tasks_stop(void);
void torture_crowd_stop(void);
u32 torture_crowd_ready(void);
u64 torture_storm_tasks(void);
u64 torture_renewals(void);
u64 torture_onoffs(void);

/* contexts.c */
int torture_contexts_start(void);
void torture_contexts_stop(void);
u64 torture_nmi_in_blog(void);

/* probes.c */
int torture_probes_start(void);
void torture_probes_stop(void);
u64 torture_probe_hits(enum torture_kind kind);
bool torture_in_probe(void);

/*
 * In Rust, torture.rs. Targets are components: first those that are static,
 * then one for each instance that is made and dropped.
 */
enum torture_target {
	TORTURE_TO_STEADY,
	TORTURE_TO_KEEP,
	TORTURE_TO_TINY,
	TORTURE_TO_FAST,
	TORTURE_TO_STORM,
	TORTURE_TO_CROWD,
	TORTURE_TO_HISTORY,
	TORTURE_TO_INSTANCE
};

int blog_torture_setup(u32 fixed, u32 all, u32 instances, u32 payload, u32 run);
void blog_torture_teardown(void);
void blog_torture_log(u32 target, u32 writer, u32 count);
void blog_torture_fast(u32 writer);
void blog_torture_nested(u32 writer);
void blog_torture_race(void);
int blog_torture_renew(u32 instance);
u32 blog_torture_targets(void);
bool blog_torture_name(u32 target, char *name, u32 size);
u32 blog_torture_attempted(u32 target, u32 writer);

#endif
