// SPDX-License-Identifier: GPL-2.0
/*
 * The folder "blog" with its files, in tracefs (of a patched kernel) or else in debugfs. A file's
 * data is the number of its subject, which BLog looks up whenever the file is opened, times
 * BLOG_FOLDERS, plus its kind of folder.
 */

#include <linux/bug.h>
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kconfig.h>
#include <linux/poll.h>
#include <linux/printk.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/splice.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "glue.h"

/* Whether there is sys/tracefs.c: else the compiler drops what calls it. */
#define BLOG_HAS_TRACEFS (IS_ENABLED(CONFIG_BLOG_HOOKS) && IS_ENABLED(CONFIG_TRACING))

/* The most bytes of a write. */
#define BLOG_WRITE_MAX 4096

/* The files of each kind of folder; those end with one without a name. */
static struct blog_file blog_files[BLOG_FOLDERS][BLOG_FILES_MAX + 1];

const char *blog_file_name(const struct file *file)
{
	return file->f_path.dentry->d_name.name;
}

/* What an open file is: what its kind has made begins with that. */
static const struct blog_file_kind *blog_kind(const struct file *file)
{
	return *(const struct blog_file_kind **)file->private_data;
}

/*
 * Under lockdown as for tracefs: at confidentiality, nothing is opened. (What debugfs refuses from
 * integrity on, it refuses by itself.)
 */
int blog_may_open(void)
{
	return security_locked_down(LOCKDOWN_TRACEFS);
}

int blog_file_open(struct inode *inode, struct file *file)
{
	unsigned long of = (unsigned long)inode->i_private;
	const struct blog_file *entry = blog_files[of % BLOG_FOLDERS];
	int ret = blog_may_open();

	if (ret)
		return ret;
	while (entry->name && strcmp(entry->name, blog_file_name(file)))
		entry++;
	if (WARN_ON_ONCE(!entry->name))
		return -ENOENT;
	/* It never fails. */
	if (entry->kind->shape == BLOG_SHAPE_STREAM)
		stream_open(inode, file);
	return entry->kind->open(of / BLOG_FOLDERS, file, &file->private_data);
}

int blog_file_release(struct inode *inode, struct file *file)
{
	blog_kind(file)->release(file->private_data);
	return 0;
}

static ssize_t blog_file_read(struct kiocb *call, struct iov_iter *to)
{
	struct file *file = call->ki_filp;

	return blog_kind(file)->read(file->private_data, file, to, &call->ki_pos);
}

/*
 * Reads into new pages, which go to the pipe. As with other files, the pipe is locked
 * meanwhile, also while this waits for something to read.
 */
static ssize_t blog_file_splice(struct file *file, loff_t *at, struct pipe_inode_info *pipe,
				size_t size, unsigned int flags)
{
	/* Then it waits only if another thread takes the data meanwhile. */
	if (flags & SPLICE_F_NONBLOCK && !blog_kind(file)->poll(file->private_data, file, NULL))
		return -EAGAIN;
	return copy_splice_read(file, at, pipe, size, flags);
}

static ssize_t blog_file_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char *text;
	int ret;

	if (!size || size > BLOG_WRITE_MAX)
		return -EINVAL;
	text = memdup_user(from, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = blog_kind(file)->write(file->private_data, text, size);
	kfree(text);
	return ret ?: size;
}

static __poll_t blog_file_poll(struct file *file, struct poll_table_struct *table)
{
	return (__force __poll_t)blog_kind(file)->poll(file->private_data, file, table);
}

/* Readers that wait for records: see "Waiting" in Documentation/blog/. */
static DECLARE_WAIT_QUEUE_HEAD(blog_waiters);

static void blog_wake_fn(struct work_struct *work)
{
	wake_up_interruptible_poll(&blog_waiters, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

static DECLARE_DELAYED_WORK(blog_wake_work, blog_wake_fn);

bool blog_poll_wait(struct file *file, struct poll_table_struct *table)
{
	poll_wait(file, &blog_waiters, table);
	return wq_has_sleeper(&blog_waiters);
}

void blog_wake_in(u32 ms)
{
	unsigned long delay = msecs_to_jiffies(ms);

	if (!wq_has_sleeper(&blog_waiters))
		return;
	if (!delayed_work_pending(&blog_wake_work) ||
	    time_before(jiffies + delay, blog_wake_work.timer.expires))
		mod_delayed_work(system_dfl_wq, &blog_wake_work, delay);
}

static const struct file_operations blog_fops = {
	.open = blog_file_open,
	.release = blog_file_release,
	.read_iter = blog_file_read,
	.write = blog_file_write,
	.poll = blog_file_poll,
	.llseek = default_llseek,
	.splice_read = blog_file_splice,
};

/*
 * Adds a file to the folders of a kind, before there is one. @name, @kind and @fops stay; where
 * @fops is NULL, it is the usual one.
 */
void blog_file_add(enum blog_folder folder, const char *name, umode_t mode,
		   const struct blog_file_kind *kind, const struct file_operations *fops)
{
	u32 i = 0;

	while (blog_files[folder][i].name)
		i++;
	if (!WARN_ON_ONCE(i == BLOG_FILES_MAX))
		blog_files[folder][i] = (struct blog_file){ name, mode, kind, fops ?: &blog_fops };
}

/* Whether the folders are in tracefs. */
static bool blog_in_tracefs;

/*
 * A folder in another one, or at the top where that is NULL; one at a time. An error is one for
 * what would be in it, too. Debugfs's own guard around each call of a file isn't needed: what is
 * open keeps what it needs.
 */
void *blog_dir_create(enum blog_folder folder, const char *name, void *in, unsigned long of)
{
	const struct blog_file *file = blog_files[folder];
	void *dir;

	of = of * BLOG_FOLDERS + folder;
	if (IS_ERR(in))
		return in;
	if (BLOG_HAS_TRACEFS && (blog_in_tracefs || !in)) {
		dir = blog_tracefs_dir(folder, name, in, file, of);
		blog_in_tracefs |= !in && !IS_ERR_OR_NULL(dir);
		if (blog_in_tracefs && !in)
			debugfs_create_symlink(name, NULL, "/sys/kernel/tracing/blog");
		if (blog_in_tracefs)
			return dir;
	}
	dir = debugfs_create_dir(name, in);
	if (!in && IS_ERR(dir))
		pr_warn("blog: neither debugfs nor tracefs is allowed, so there are no files; crash dumps and last words have the records\n");
	for (; file->name; file++)
		debugfs_create_file_unsafe(file->name, file->mode, dir, (void *)of, file->fops);
	return dir;
}

/* Removes it with all that is in it. Files that are open stay open. */
void blog_dir_remove(void *dir)
{
	if (BLOG_HAS_TRACEFS && blog_in_tracefs)
		blog_tracefs_remove(dir);
	else
		debugfs_remove(dir);
}
