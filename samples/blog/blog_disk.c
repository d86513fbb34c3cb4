// SPDX-License-Identifier: GPL-2.0
/*
 * A disk in memory that logs each request, to show BLog in a driver of the usual kind: requests are
 * queued by tasks on any CPU, and done in a softirq of that CPU.
 *
 *	insmod blog_disk.ko bad=2048
 *	dd if=/dev/blogdisk of=/dev/null bs=4k iflag=direct
 */

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/blog.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

BLOG_COMPONENT(blog_disk, .size_kb = 1024, .level = BLOG_DEBUG);

static unsigned int size_mb = 16;
module_param(size_mb, uint, 0444);
MODULE_PARM_DESC(size_mb, "size of the disk in MiB");

static unsigned long bad = ULONG_MAX;
module_param(bad, ulong, 0644);
MODULE_PARM_DESC(bad, "a sector that can't be read");

/* What was queued, for who compares it with the log. */
static atomic_t queued = ATOMIC_INIT(0);

static int queued_get(char *to, const struct kernel_param *kp)
{
	return sysfs_emit(to, "%d\n", atomic_read(&queued));
}

static const struct kernel_param_ops queued_ops = { .get = queued_get };
module_param_cb(queued, &queued_ops, NULL, 0444);
MODULE_PARM_DESC(queued, "how many requests there were");

/*
 * A mistake, made on request: two threads take the same two locks, each in its own order. They
 * never end, and neither does the module.
 */
static DEFINE_MUTEX(blog_disk_map);
static DEFINE_MUTEX(blog_disk_cache);
static DECLARE_COMPLETION(map_is_held);
static DECLARE_COMPLETION(cache_is_held);

static int blog_disk_grow(void *unused)
{
	mutex_lock(&blog_disk_map);
	blog_info(blog_disk, "grow: has the map");
	complete(&map_is_held);
	wait_for_completion(&cache_is_held);
	blog_info(blog_disk, "grow: wants the cache");
	mutex_lock(&blog_disk_cache);
	return 0;
}

static int blog_disk_flush(void *unused)
{
	mutex_lock(&blog_disk_cache);
	blog_info(blog_disk, "flush: has the cache");
	complete(&cache_is_held);
	wait_for_completion(&map_is_held);
	blog_info(blog_disk, "flush: wants the map");
	mutex_lock(&blog_disk_map);
	return 0;
}

static int deadlock_set(const char *unused, const struct kernel_param *kp)
{
	static atomic_t done = ATOMIC_INIT(0);

	if (atomic_xchg(&done, 1))
		return -EBUSY;
	__module_get(THIS_MODULE);
	kthread_run(blog_disk_grow, NULL, "disk_grow");
	kthread_run(blog_disk_flush, NULL, "disk_flush");
	return 0;
}

static const struct kernel_param_ops deadlock_ops = { .set = deadlock_set };
module_param_cb(deadlock, &deadlock_ops, NULL, 0200);
MODULE_PARM_DESC(deadlock, "a write makes two threads wait for each other, for a demonstration");

/* The requests of a CPU. */
struct blog_disk_queue {
	spinlock_t lock; /* Of waiting */
	struct bio_list waiting;
	struct tasklet_struct tasklet;
};

static DEFINE_PER_CPU(struct blog_disk_queue, blog_disk_queues);
static struct gendisk *blog_disk_gd;
static u8 *blog_disk_data;

static bool is_bad(const struct bio *bio)
{
	return bio_op(bio) == REQ_OP_READ && bad >= bio->bi_iter.bi_sector &&
	       bad < bio_end_sector(bio);
}

/* Does a request, in a softirq. */
static void blog_disk_do(struct bio *bio)
{
	u64 sector = bio->bi_iter.bi_sector;
	u8 *data = blog_disk_data + (sector << SECTOR_SHIFT);
	unsigned int bytes = bio->bi_iter.bi_size;
	struct bvec_iter iter;
	struct bio_vec part;

	if (is_bad(bio)) {
		blog_err(blog_disk, "sector %lu can't be read: %pe", bad, ERR_PTR(-EIO));
		bio_io_error(bio);
		return;
	}
	bio_for_each_segment(part, bio, iter) {
		if (op_is_write(bio_op(bio)))
			memcpy_from_bvec(data, &part);
		else
			memcpy_to_bvec(&part, data);
		data += part.bv_len;
	}
	blog_debug(blog_disk, "done: %u bytes at sector %llu", bytes, sector);
	bio_endio(bio);
}

static void blog_disk_softirq(struct tasklet_struct *tasklet)
{
	struct blog_disk_queue *queue = from_tasklet(queue, tasklet, tasklet);
	struct bio_list todo;
	struct bio *bio;

	spin_lock_irq(&queue->lock);
	todo = queue->waiting;
	bio_list_init(&queue->waiting);
	spin_unlock_irq(&queue->lock);

	while ((bio = bio_list_pop(&todo)))
		blog_disk_do(bio);
}

static void blog_disk_submit(struct bio *bio)
{
	struct blog_disk_queue *queue = raw_cpu_ptr(&blog_disk_queues);
	unsigned long flags;

	blog_debug(blog_disk, "%s %u bytes at sector %llu",
		   op_is_write(bio_op(bio)) ? "write" : "read", bio->bi_iter.bi_size,
		   (u64)bio->bi_iter.bi_sector);
	atomic_inc(&queued);

	spin_lock_irqsave(&queue->lock, flags);
	bio_list_add(&queue->waiting, bio);
	spin_unlock_irqrestore(&queue->lock, flags);
	tasklet_schedule(&queue->tasklet);
}

static const struct block_device_operations blog_disk_ops = {
	.owner = THIS_MODULE,
	.submit_bio = blog_disk_submit,
};

/* The first argument is new in 6.9, and this macro, which can be looked for, in 6.11. */
#ifdef BLK_FEAT_WRITE_CACHE
#define blog_disk_alloc()	blk_alloc_disk(NULL, NUMA_NO_NODE)
#else
#define blog_disk_alloc()	blk_alloc_disk(NUMA_NO_NODE)
#endif

static int __init blog_disk_init(void)
{
	struct blog_disk_queue *queue;
	int cpu, err;

	if (!size_mb || size_mb > 4096)
		return -EINVAL;
	blog_disk_data = vzalloc((size_t)size_mb << 20);
	if (!blog_disk_data)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		queue = per_cpu_ptr(&blog_disk_queues, cpu);
		spin_lock_init(&queue->lock);
		bio_list_init(&queue->waiting);
		tasklet_setup(&queue->tasklet, blog_disk_softirq);
	}

	/* On failure NULL, or an error pointer in newer kernels */
	blog_disk_gd = blog_disk_alloc();
	if (IS_ERR_OR_NULL(blog_disk_gd)) {
		err = -ENOMEM;
		goto free_data;
	}
	blog_disk_gd->fops = &blog_disk_ops;
	strscpy(blog_disk_gd->disk_name, "blogdisk", sizeof(blog_disk_gd->disk_name));
	set_capacity(blog_disk_gd, (sector_t)size_mb << (20 - SECTOR_SHIFT));
	err = add_disk(blog_disk_gd);
	if (err)
		goto put_disk;
	blog_info(blog_disk, "%pg: %u MiB", blog_disk_gd->part0, size_mb);
	return 0;

put_disk:
	put_disk(blog_disk_gd);
free_data:
	vfree(blog_disk_data);
	return err;
}
module_init(blog_disk_init);

static void __exit blog_disk_exit(void)
{
	int cpu;

	del_gendisk(blog_disk_gd);
	/* Nobody has the disk open, so all requests are done. */
	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(&blog_disk_queues, cpu)->tasklet);
	put_disk(blog_disk_gd);
	vfree(blog_disk_data);
	blog_info(blog_disk, "unloaded after %d requests", atomic_read(&queued));
}
module_exit(blog_disk_exit);

MODULE_DESCRIPTION("Disk in memory that logs its requests");
MODULE_LICENSE("GPL");
