// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the records of each writer, for the verifier.
 *
 * debugfs, in blog_torture/:
 *   state  r   "running" or "done"; w: "stop" ends the run
 *   truth  r   each writer with the number of its records in each component
 *   log    w   a number: the caller logs that many records; one more when the
 *              file is closed, which for a task that ends is in its exit
 */

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "blog_torture.h"

/* Most records that a write to "log" makes. */
#define TORTURE_LOG_MAX 100000

static const char *const torture_kinds[] = {
	[TORTURE_TIMER] = "timer",	 [TORTURE_TASKLET] = "tasklet",
	[TORTURE_HRTIMER] = "hrtimer",	 [TORTURE_IRQWORK] = "irq_work",
	[TORTURE_IPI] = "ipi",		 [TORTURE_NMI] = "nmi",
	[TORTURE_NESTED] = "nested",	 [TORTURE_IDLE] = "idle",
	[TORTURE_STARTING] = "starting", [TORTURE_DYING] = "dying",
	[TORTURE_EXITING] = "exiting",	 [TORTURE_HOTPLUG] = "hotplug",
	[TORTURE_WORKER] = "worker",	 [TORTURE_HISTORY] = "history",
	[TORTURE_CROWD] = "crowd",	 [TORTURE_STORM] = "storm",
	[TORTURE_USER] = "user",
};

static struct torture_writer *torture_writers;
static u32 torture_fixed, torture_all;
/* Numbers below torture_fixed: CPUs' contexts, workers; above: tasks as they come. */
static atomic_t torture_next_fixed, torture_next_task;
static struct dentry *torture_dir;

const char *torture_kind_name(enum torture_kind kind)
{
	return torture_kinds[kind];
}

int torture_writers_init(void)
{
	u32 cpus = nr_cpu_ids * TORTURE_WORKER;
	int ret;
	u32 i;

	torture_fixed = cpus + param_workers * nr_cpu_ids + 8;
	torture_all = torture_fixed + param_storm_max + param_crowd;
	if (torture_all >= 1 << 24)
		return -EINVAL;
	torture_writers = vcalloc(torture_all, sizeof(*torture_writers));
	if (!torture_writers)
		return -ENOMEM;
	for (i = 0; i < cpus; i++) {
		torture_writers[i].kind = i / nr_cpu_ids;
		torture_writers[i].cpu = i % nr_cpu_ids;
		torture_writers[i].pid = -1;
	}
	atomic_set(&torture_next_fixed, cpus);
	atomic_set(&torture_next_task, torture_fixed);
	ret = blog_torture_setup(torture_fixed, torture_all, param_instances, param_payload,
				 param_run);
	if (ret)
		torture_writers_exit();
	return ret;
}

void torture_writers_exit(void)
{
	blog_torture_teardown();
	vfree(torture_writers);
	torture_writers = NULL;
}

/* The writer of a CPU in a kind of context. Any context. */
u32 torture_cpu_writer(enum torture_kind kind, unsigned int cpu)
{
	return kind * nr_cpu_ids + cpu;
}

/* Makes a writer for a task, which must call torture_writer_is_me(). */
int torture_task_writer(enum torture_kind kind)
{
	bool fixed = kind < TORTURE_CROWD;
	u32 limit = fixed ? torture_fixed : torture_all;
	u32 i;

	/* Counts up only as far as there are numbers, so it never wraps. */
	i = atomic_fetch_add_unless(fixed ? &torture_next_fixed : &torture_next_task, 1, limit);
	if (i == limit)
		return -ENOSPC;
	torture_writers[i].kind = kind;
	torture_writers[i].cpu = 0;
	torture_writers[i].pid = -1;
	return i;
}

bool torture_writers_left(void)
{
	return atomic_read(&torture_next_task) < torture_all;
}

void torture_writer_is_me(u32 writer)
{
	torture_writers[writer].pid = current->pid;
}

static u32 torture_end(void)
{
	return atomic_read(&torture_next_task);
}

u64 torture_kind_total(enum torture_kind kind)
{
	u32 targets = blog_torture_targets();
	u32 end = torture_end();
	u64 sum = 0;
	u32 w, t;

	for (w = 0; w < end; w++)
		if (torture_writers[w].kind == kind)
			for (t = 0; t < targets; t++)
				sum += blog_torture_attempted(t, w);
	return sum;
}

u64 torture_target_total(u32 target)
{
	u32 end = torture_end();
	u64 sum = 0;
	u32 w;

	for (w = 0; w < end; w++)
		sum += blog_torture_attempted(target, w);
	return sum;
}

static const char *torture_state_name(void)
{
	switch (torture_state()) {
	case TORTURE_RUNNING:
		return "running";
	case TORTURE_STOPPING:
		return "stopping";
	default:
		return "done";
	}
}

static int state_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%s\ncrowd %u\n", torture_state_name(), torture_crowd_ready());
	return 0;
}

static int state_open(struct inode *inode, struct file *file)
{
	return single_open(file, state_show, NULL);
}

static ssize_t state_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char word[8] = "";

	if (len > sizeof(word) - 1 || copy_from_user(word, from, len))
		return -EINVAL;
	if (!sysfs_streq(word, "stop"))
		return -EINVAL;
	torture_stop_now();
	return len;
}

static const struct file_operations state_fops = {
	.owner = THIS_MODULE,
	.open = state_open,
	.read = seq_read,
	.write = state_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/*
 * Lines: "payload BYTES", "rt 0|1"; for each component "component NAME", and
 * for each of its writers "NUMBER KIND CPU PID RECORDS". A line is a position
 * of the file: target * (writers + 1) + writer + 1.
 */
static bool truth_place(loff_t pos, u32 *target, u32 *writer)
{
	u32 per = torture_end() + 1;

	*target = div_u64_rem(pos, per, writer);
	return *target < blog_torture_targets();
}

static void *truth_start(struct seq_file *m, loff_t *pos)
{
	u32 target, writer;

	return truth_place(*pos, &target, &writer) ? pos : NULL;
}

static void *truth_next(struct seq_file *m, void *v, loff_t *pos)
{
	u32 target, writer;

	/* Most writers have nothing in most components. */
	while (truth_place(++*pos, &target, &writer))
		if (!writer || blog_torture_attempted(target, writer - 1))
			return pos;
	return NULL;
}

static void truth_stop(struct seq_file *m, void *v)
{
}

static int truth_show(struct seq_file *m, void *v)
{
	const struct torture_writer *w;
	u32 target, writer, n;
	char name[64];

	if (!truth_place(*(loff_t *)v, &target, &writer))
		return 0;
	if (!*(loff_t *)v)
		seq_printf(m, "state %s\nrun %u\npayload %u\nrt %d\n", torture_state_name(),
			   param_run, param_payload, IS_ENABLED(CONFIG_PREEMPT_RT));
	if (!writer) {
		if (blog_torture_name(target, name, sizeof(name)))
			seq_printf(m, "component %s\n", name);
		return 0;
	}
	n = blog_torture_attempted(target, writer - 1);
	w = &torture_writers[writer - 1];
	if (n)
		seq_printf(m, "%u %s %u %d %u\n", (writer - 1) | param_run << 24,
			   torture_kinds[w->kind], w->cpu, w->pid, n);
	return 0;
}

static const struct seq_operations truth_sops = {
	.start = truth_start,
	.next = truth_next,
	.stop = truth_stop,
	.show = truth_show,
};

DEFINE_SEQ_ATTRIBUTE(truth);

static int log_open(struct inode *inode, struct file *file)
{
	int writer = torture_task_writer(TORTURE_USER);

	if (writer < 0)
		return writer;
	torture_writer_is_me(writer);
	file->private_data = (void *)(long)writer;
	return 0;
}

static ssize_t log_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	u32 writer = (long)file->private_data;
	unsigned int n;
	int ret;

	ret = kstrtouint_from_user(from, len, 0, &n);
	if (ret)
		return ret;
	/* A file that another task got by fork() has another writer's number. */
	if (n > TORTURE_LOG_MAX || torture_writers[writer].pid != current->pid)
		return -EINVAL;
	blog_torture_log(TORTURE_TO_STORM, writer, n);
	return len;
}

static int log_release(struct inode *inode, struct file *file)
{
	u32 writer = (long)file->private_data;

	if (torture_writers[writer].pid == current->pid)
		blog_torture_log(TORTURE_TO_STORM, writer, 1);
	return 0;
}

static const struct file_operations log_fops = {
	.owner = THIS_MODULE,
	.open = log_open,
	.write = log_write,
	.llseek = noop_llseek,
	.release = log_release,
};

int torture_truth_init(void)
{
	torture_dir = debugfs_create_dir("blog_torture", NULL);
	if (IS_ERR(torture_dir))
		return PTR_ERR(torture_dir);
	debugfs_create_file("state", 0600, torture_dir, NULL, &state_fops);
	debugfs_create_file("truth", 0400, torture_dir, NULL, &truth_fops);
	debugfs_create_file("log", 0200, torture_dir, NULL, &log_fops);
	return 0;
}

void torture_truth_exit(void)
{
	debugfs_remove(torture_dir);
}
