// SPDX-License-Identifier: GPL-2.0
/*
 * The folder "blog" with its files, in tracefs (of a patched kernel) and in debugfs:
 * the same files, wherever the kernel has a place for them. A file's data is the
 * number of its subject, which BLog looks up whenever the file is opened.
 */

#include <linux/bug.h>
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kconfig.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/splice.h>
#include <linux/string.h>

#include "glue.h"

/* Whether there is sys/tracefs.c: else the compiler drops what calls it. */
#define BLOG_HAS_TRACEFS (IS_ENABLED(CONFIG_BLOG_HOOKS) && IS_ENABLED(CONFIG_TRACING))

/* The most bytes of a write. */
#define BLOG_WRITE_MAX 4096

/* The most kinds of files of one shape. */
#define BLOG_KINDS_MAX 2

static const struct file_operations blog_fops[BLOG_SHAPES][BLOG_KINDS_MAX];

/* By shape, kinds of which there is a file: each has its own of blog_fops. */
static const struct blog_file_kind *blog_kinds[BLOG_SHAPES][BLOG_KINDS_MAX];

static const struct blog_file_kind *blog_kind(const struct file *file)
{
	return (&blog_kinds[0][0])[file->f_op - &blog_fops[0][0]];
}

static int blog_file_open(struct inode *inode, struct file *file)
{
	const struct blog_file_kind *kind = blog_kind(file);

	/* It never fails. */
	if (kind->shape == BLOG_SHAPE_STREAM)
		stream_open(inode, file);
	return kind->open((unsigned long)inode->i_private, file, &file->private_data);
}

static int blog_file_release(struct inode *inode, struct file *file)
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

static int blog_file_mmap(struct file *file, struct vm_area_struct *area)
{
	if (area->vm_flags & (VM_WRITE | VM_EXEC))
		return -EINVAL;
	vm_flags_mod(area, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP | VM_MIXEDMAP,
		     VM_MAYWRITE | VM_MAYEXEC);
	return blog_kind(file)->mmap(file->private_data, area, area->vm_pgoff, vma_pages(area));
}

/* Maps a page in the @n th place. */
int blog_area_insert(struct vm_area_struct *area, unsigned long n, struct page *page)
{
	return vm_insert_page(area, area->vm_start + n * PAGE_SIZE, page);
}

const char *blog_file_name(const struct file *file)
{
	return file->f_path.dentry->d_name.name;
}

static const struct file_operations blog_fops[BLOG_SHAPES][BLOG_KINDS_MAX] = {
	[BLOG_SHAPE_TEXT][0 ... BLOG_KINDS_MAX - 1] = {
		.open = blog_file_open,
		.release = blog_file_release,
		.read_iter = blog_file_read,
		.write = blog_file_write,
		.poll = blog_file_poll,
		.llseek = default_llseek,
	},
	[BLOG_SHAPE_STREAM][0 ... BLOG_KINDS_MAX - 1] = {
		.open = blog_file_open,
		.release = blog_file_release,
		.read_iter = blog_file_read,
		.write = blog_file_write,
		.poll = blog_file_poll,
		.splice_read = blog_file_splice,
	},
	[BLOG_SHAPE_COPY][0 ... BLOG_KINDS_MAX - 1] = {
		.open = blog_file_open,
		.release = blog_file_release,
		.read_iter = blog_file_read,
		.write = blog_file_write,
		.llseek = default_llseek,
	},
	/* Debugfs opens no file with mmap() under lockdown. */
	[BLOG_SHAPE_MAP][0 ... BLOG_KINDS_MAX - 1] = {
		.open = blog_file_open,
		.release = blog_file_release,
		.mmap = blog_file_mmap,
	},
};

/* The folder "blog". */
struct blog_dir blog_tree_start(void)
{
	struct blog_dir root = {
		.tracefs = BLOG_HAS_TRACEFS ? blog_tracefs_dir("blog", NULL) : NULL,
		.debugfs = debugfs_create_dir("blog", NULL),
	};

	if (!IS_ERR(root.debugfs))
		return root;
	if (root.tracefs)
		pr_info("blog: no debugfs; the files are in tracefs, in /sys/kernel/tracing/blog\n");
	else
		pr_warn("blog: neither debugfs nor tracefs is allowed, so there are no files; crash dumps and last words have the records\n");
	return root;
}

/* A folder in another one, wherever that is. */
struct blog_dir blog_dir_create(const char *name, const struct blog_dir *in)
{
	struct blog_dir dir = {
		.tracefs = BLOG_HAS_TRACEFS && in->tracefs ? blog_tracefs_dir(name, in->tracefs) :
							     NULL,
		/* It returns an error that is given as a folder. */
		.debugfs = debugfs_create_dir(name, in->debugfs),
	};

	return dir;
}

/* What the kernel calls of a kind of file; NULL if there are too many kinds. */
static const struct file_operations *blog_fops_of(const struct blog_file_kind *kind)
{
	u32 shape = kind->shape, i;

	for (i = 0; i < BLOG_KINDS_MAX; i++) {
		if (!blog_kinds[shape][i])
			blog_kinds[shape][i] = kind;
		if (blog_kinds[shape][i] == kind)
			return &blog_fops[shape][i];
	}
	return NULL;
}

/*
 * A file in it; one at a time. @kind stays. Debugfs's own guard around each call isn't
 * needed: what is open keeps what it needs.
 */
void blog_file_create(const char *name, umode_t mode, const struct blog_dir *in, unsigned long data,
		      const struct blog_file_kind *kind)
{
	const struct file_operations *fops = blog_fops_of(kind);

	if (WARN_ON_ONCE(!fops))
		return;
	if (BLOG_HAS_TRACEFS)
		blog_tracefs_file(name, mode, in->tracefs, data, fops);
	debugfs_create_file_unsafe(name, mode, in->debugfs, (void *)data, fops);
}

/* Removes it with all that is in it. Files that are open stay open. */
void blog_dir_remove(const struct blog_dir *dir)
{
	if (BLOG_HAS_TRACEFS)
		blog_tracefs_remove(dir->tracefs);
	debugfs_remove(dir->debugfs);
}
