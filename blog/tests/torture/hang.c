// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that hang, for tests of what is said about a hang. The parameter "scene" has its kind.
 * Each thread logs where it is before it goes on, and the next one starts then: so owners of locks
 * and waiting threads are the same each time.
 *
 * Threads that run on end with "stop", so that the machine can be switched off. The others stay,
 * and so does the module.
 */

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/blog.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "../testmod.h"

BLOG_COMPONENT(hang);

static char *scene = "";
module_param(scene, charp, 0444);
MODULE_PARM_DESC(scene, "what hangs");

static bool hang_stop;
module_param_named(stop, hang_stop, bool, 0644);
MODULE_PARM_DESC(stop, "ends the threads that run");

static DECLARE_COMPLETION(hang_never);
static DECLARE_COMPLETION(hang_arrived);
static DECLARE_COMPLETION(hang_done);

/* The caller is where it holds what it holds. */
static void hang_here(const char *place)
{
	blog_log(hang, "%s", place);
	complete(&hang_arrived);
}

static bool hang_goes_on(void)
{
	cond_resched();
	return !READ_ONCE(hang_stop);
}

/* A thread that has nothing to do */
static void hang_idle(void)
{
	test_nap(MAX_SCHEDULE_TIMEOUT);
}

/* A completion that nobody completes */
static void hang_completion(unsigned int n)
{
	hang_here("waits for the answer");
	wait_for_completion(&hang_never);
}

/* A wait queue that nobody wakes */
static DECLARE_WAIT_QUEUE_HEAD(hang_queue_head);

static void hang_queue(unsigned int n)
{
	hang_here("waits for room");
	wait_event(hang_queue_head, READ_ONCE(hang_stop));
}

/* The second interrupt is lost. */
static struct timer_list hang_device;
static int hang_irq;

static void hang_raise(struct timer_list *timer)
{
	generic_handle_irq_safe(hang_irq);
}

static irqreturn_t hang_handler(int irq, void *unused)
{
	blog_log(hang, "done");
	complete(&hang_done);
	return IRQ_HANDLED;
}

static void hang_interrupt(unsigned int n)
{
	hang_irq = irq_alloc_desc_from(200, NUMA_NO_NODE);
	if (WARN_ON(hang_irq < 0))
		return;
	irq_set_chip_and_handler(hang_irq, &dummy_irq_chip, handle_simple_irq);
	irq_modify_status(hang_irq, IRQ_NOREQUEST, IRQ_NOPROBE);
	if (WARN_ON(request_irq(hang_irq, hang_handler, 0, "blog_hang", NULL)))
		return;
	timer_setup(&hang_device, hang_raise, 0);
	blog_log(hang, "request 1");
	mod_timer(&hang_device, jiffies + 1);
	wait_for_completion(&hang_done);
	disable_irq(hang_irq);
	mod_timer(&hang_device, jiffies + 1);
	hang_here("request 2");
	wait_for_completion(&hang_done);
}

/* A work item that doesn't end, in a queue that has one at a time */
static void hang_work_runs(struct work_struct *work)
{
	blog_log(hang, "looks for a free block");
	complete(&hang_done);
	while (hang_goes_on())
		cpu_relax();
}

static void hang_work_starves(struct work_struct *work)
{
}

static DECLARE_WORK(hang_first_work, hang_work_runs);
static DECLARE_WORK(hang_second_work, hang_work_starves);

static void hang_worker(unsigned int n)
{
	struct workqueue_struct *queue = alloc_ordered_workqueue("blog_hang", 0);

	if (WARN_ON(!queue))
		return;
	queue_work(queue, &hang_first_work);
	queue_work(queue, &hang_second_work);
	wait_for_completion(&hang_done);
	hang_here("waits for its work");
	flush_work(&hang_second_work);
}

/* Readers 1 and 2 stay; 3, the last to come, has left. 4 wants to write, and after it 5 to read. */
static DECLARE_RWSEM(hang_rwsem_lock);

static void hang_rwsem(unsigned int n)
{
	if (n == 4) {
		hang_here("wants to write");
		return down_write(&hang_rwsem_lock);
	}
	if (n == 5)
		hang_here("wants to read");
	down_read(&hang_rwsem_lock);
	if (n == 3)
		up_read(&hang_rwsem_lock);
	hang_here(n == 3 ? "has read" : "reads");
	hang_idle();
}

/* 1 stays in a critical section of RCU; 2 waits for it to end. */
static void hang_rcu(unsigned int n)
{
	if (n == 2) {
		hang_here("waits for readers");
		return synchronize_rcu();
	}
	rcu_read_lock();
	hang_here("walks a list");
	while (!READ_ONCE(hang_stop))
		cpu_relax();
	rcu_read_unlock();
}

/* 1 has a bit as a lock; 2 wants it. */
static unsigned long hang_bits;

static void hang_bit(unsigned int n)
{
	if (n == 2)
		hang_here("wants the bit");
	wait_on_bit_lock(&hang_bits, 0, TASK_UNINTERRUPTIBLE);
	hang_here("has the bit");
	hang_idle();
}

/* A disk that never ends a request */
static void hang_submit(struct bio *bio)
{
	blog_log(hang, "got sector %llu", (u64)bio->bi_iter.bi_sector);
}

static const struct block_device_operations hang_disk_ops = {
	.owner = THIS_MODULE,
	.submit_bio = hang_submit,
};

static void hang_io(unsigned int n)
{
	struct gendisk *disk = blk_alloc_disk(NULL, NUMA_NO_NODE);
	struct bio_vec vec;
	struct bio bio;

	if (WARN_ON(IS_ERR(disk)))
		return;
	disk->fops = &hang_disk_ops;
	disk->flags |= GENHD_FL_NO_PART;
	strscpy(disk->disk_name, "bloghang");
	set_capacity(disk, 2048);
	if (WARN_ON(add_disk(disk)))
		return;
	bio_init(&bio, disk->part0, &vec, 1, REQ_OP_READ);
	__bio_add_page(&bio, ZERO_PAGE(0), SECTOR_SIZE, 0);
	bio.bi_iter.bi_sector = 8;
	hang_here("reads sector 8");
	submit_bio_wait(&bio);
}

/* Each has a lock, finds that the other one is taken, lets go of its own, and begins anew. */
static struct mutex hang_forks[2];
static atomic_t hang_turn = ATOMIC_INIT(0);

/* Both come here. */
static void hang_meet(void)
{
	int both = round_up(atomic_inc_return(&hang_turn), 2);

	while (atomic_read(&hang_turn) < both && hang_goes_on())
		cpu_relax();
}

static void hang_livelock(unsigned int n)
{
	mutex_init(&hang_forks[n - 1]);
	hang_here("begins");
	while (hang_goes_on()) {
		mutex_lock(&hang_forks[n - 1]);
		hang_meet();
		if (mutex_trylock(&hang_forks[2 - n]))
			mutex_unlock(&hang_forks[2 - n]);
		else
			blog_log(hang, "steps aside");
		hang_meet();
		mutex_unlock(&hang_forks[n - 1]);
	}
}

/* 1 doesn't give back what it took; 2 wants it. */
static DEFINE_SEMAPHORE(hang_count, 1);

static void hang_semaphore(unsigned int n)
{
	if (n == 2)
		hang_here("wants a slot");
	down(&hang_count);
	hang_here("forgets to give its slot back");
	hang_idle();
}

static const struct hang_scene {
	const char *name;
	void (*run)(unsigned int n);
	unsigned int threads;
} hang_scenes[] = {
	{ "completion", hang_completion, 1 },
	{ "queue", hang_queue, 1 },
	{ "interrupt", hang_interrupt, 1 },
	{ "worker", hang_worker, 1 },
	{ "rwsem", hang_rwsem, 5 },
	{ "rcu", hang_rcu, 2 },
	{ "bit", hang_bit, 2 },
	{ "io", hang_io, 1 },
	{ "livelock", hang_livelock, 2 },
	{ "semaphore", hang_semaphore, 2 },
};

static const struct hang_scene *hang_chosen;

static int hang_thread(void *number)
{
	hang_chosen->run((unsigned long)number);
	return 0;
}

/* Until the thread waits: before that, the next one may come first. Some threads never wait. */
static void hang_settle(struct task_struct *task)
{
	int left = 20;

	while (left-- && task_is_running(task))
		msleep(20);
}

static int __init hang_init(void)
{
	const struct hang_scene *chosen = hang_scenes;
	struct task_struct *task;
	unsigned long n;
	int err;

	while (strcmp(chosen->name, scene))
		if (++chosen == hang_scenes + ARRAY_SIZE(hang_scenes))
			return -EINVAL;
	hang_chosen = chosen;
	for (n = 1; n <= chosen->threads; n++) {
		err = test_start(&task, -1, hang_thread, (void *)n, "%s/%lu", chosen->name, n);
		if (err)
			return err;
		wait_for_completion(&hang_arrived);
		hang_settle(task);
	}
	return 0;
}
module_init(hang_init);

/* No exit: what a scene has started has no end. */

MODULE_DESCRIPTION("BLog test: threads that hang");
MODULE_LICENSE("GPL");
