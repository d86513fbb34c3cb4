// SPDX-License-Identifier: GPL-2.0
/*
 * The benchmark module. A line written to /sys/kernel/debug/blog_bench/run makes it
 * measure. It leaves raw samples in "results" beside that file, for tests/bench on
 * the host. The lines:
 *
 *	cases CONTEXT ROUNDS N NAME...		these cases, one batch of N each in
 *						every round; "blog_" or "blog_on."
 *						stands for all that begin so
 *	each N					N records of two scalars, one by one
 *	new N					the first two records of N new tasks
 *	many N					a task logs to N components in turn
 *	turns TASKS ROUNDS N NAME...		these cases, N times in every round by
 *						TASKS tasks that wake each other
 *	mark NAME				gives the following samples that name
 *
 * All cases of a line are measured by turns, so a disturbance in one round
 * disturbs all of them. The first two rounds warm up and are left out.
 */

#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "bench.h"

#define RESULTS_SIZE (8 << 20)
#define WARM_UP	     2

static const struct bench_case *const tables[] = { bench_blog_cases, bench_none_cases,
						   bench_peer_cases };

static const char *const context_names[BENCH_CONTEXTS] = { "task", "softirq", "hardirq" };

static DEFINE_MUTEX(lock);
static struct debugfs_blob_wrapper results;
static struct dentry *folder;

static __printf(1, 2) int tell(const char *fmt, ...)
{
	size_t room = RESULTS_SIZE - results.size;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(results.data + results.size, room, fmt, args);
	va_end(args);
	if (n >= room)
		return -ENOSPC;
	results.size += n;
	return 0;
}

/* Two of these show how long a tick is. */
static int tell_clocks(void)
{
	return tell("clocks %llu %llu\n", bench_ticks(), ktime_get_raw_ns());
}

/* Is it among these names? */
static bool chosen(const char *name, const char *names)
{
	for (size_t len; *names; names += len + !!names[len]) {
		len = strcspn(names, " ");
		if (!len || strncmp(name, names, len))
			continue;
		/* A whole name, or all that begin so */
		if (!name[len] || strchr("._", names[len - 1]))
			return true;
	}
	return false;
}

/* In so many tasks by turns if that isn't 0, else in the context. */
static int measure_cases(u32 tasks, enum bench_context context, u32 rounds, u32 n,
			 const char *names)
{
	struct taker *takers = tasks ? bench_make_takers(tasks) : NULL;
	char turns[20];
	int ret = 0;

	if (tasks && !takers)
		return -ENOMEM;
	if (tasks)
		snprintf(turns, sizeof(turns), "turns_%u", tasks);

	for (u32 round = 0; round < rounds + WARM_UP; round++) {
		for (int t = 0; t < ARRAY_SIZE(tables); t++) {
			for (const struct bench_case *c = tables[t]; c->name; c++) {
				u64 ticks;

				if (!chosen(c->name, names))
					continue;
				if (tasks)
					ticks = bench_turns(takers, c->run, n);
				else
					ticks = bench_batch(context, c->run, n);
				if (round >= WARM_UP)
					ret = tell("case %s %s %u %llu\n", c->name,
						   tasks ? turns : context_names[context], n,
						   ticks);
				if (!ret && signal_pending(current))
					ret = -EINTR;
				if (ret)
					goto end;
			}
		}
		cond_resched();
	}
end:
	if (tasks)
		bench_end_takers(takers, tasks);
	return ret;
}

static int measure_each(u32 n)
{
	u32 *ticks = vcalloc(n, sizeof(*ticks));
	unsigned long flags;
	int ret = 0;

	if (!ticks)
		return -ENOMEM;
	for (int round = 0; round <= WARM_UP; round++) {
		local_irq_save(flags);
		bench_blog_each(ticks, n);
		local_irq_restore(flags);
	}
	for (u32 i = 0; i < n && !ret; i++)
		ret = tell("each %u\n", ticks[i]);
	vfree(ticks);
	return ret;
}

static int measure_new(u32 n)
{
	u32 (*ticks)[2] = vcalloc(n, sizeof(*ticks));
	int ret;

	if (!ticks)
		return -ENOMEM;
	ret = bench_new_tasks(ticks, n);
	for (u32 i = 0; i < n && !ret; i++)
		ret = tell("new %u %u\n", ticks[i][0], ticks[i][1]);
	vfree(ticks);
	return ret;
}

static int measure_many(u32 n)
{
	u64 ticks = bench_blog_many(n);

	return ticks ? tell("many %u %llu\n", n, ticks) : -ENOMEM;
}

static int run_line(const char *line)
{
	char word[16];
	u32 tasks, rounds, n;
	int at = 0;

	if (sscanf(line, "cases %15s %u %u %n", word, &rounds, &n, &at) == 3 && at) {
		int context = match_string(context_names, BENCH_CONTEXTS, word);

		return context < 0 ? context : measure_cases(0, context, rounds, n, line + at);
	}
	if (sscanf(line, "turns %u %u %u %n", &tasks, &rounds, &n, &at) == 3 && at && tasks && n)
		return measure_cases(tasks, BENCH_TASK, rounds, n, line + at);
	if (sscanf(line, "mark %15s", word) == 1)
		return tell("mark %s\n", word);
	if (sscanf(line, "each %u", &n) == 1)
		return measure_each(n);
	if (sscanf(line, "new %u", &n) == 1)
		return measure_new(n);
	if (sscanf(line, "many %u", &n) == 1)
		return measure_many(n);
	return -EINVAL;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char *line;
	int ret;

	if (len > PAGE_SIZE)
		return -EINVAL;
	line = memdup_user_nul(from, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	strreplace(line, '\n', ' ');
	mutex_lock(&lock);
	ret = tell_clocks() ?: run_line(line) ?: tell_clocks();
	mutex_unlock(&lock);
	kfree(line);
	return ret ?: len;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.write = run_write,
};

static int __init bench_init(void)
{
	results.data = vmalloc(RESULTS_SIZE);
	if (!results.data)
		return -ENOMEM;
	bench_contexts_init();
	folder = debugfs_create_dir("blog_bench", NULL);
	debugfs_create_file("run", 0200, folder, NULL, &run_fops);
	debugfs_create_blob("results", 0400, folder, &results);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove(folder);
	bench_contexts_exit();
	vfree(results.data);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_AUTHOR("BLog developers");
MODULE_DESCRIPTION("What a BLog record costs, beside its peers");
MODULE_LICENSE("GPL");
