// SPDX-License-Identifier: GPL-2.0
/*
 * Files of BLog in tracefs. This part is built in: tracefs exports no function
 * that makes a folder, and it doesn't wait for an open() that is under way when a
 * file is removed. So the operations that open the files stay, and find the
 * logger's own operations if the logger is loaded.
 */

#include <linux/errno.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/tracefs.h>

#include "glue.h"

/* Set while the logger is there: by kind of file. */
static const struct file_operations *const __rcu *blog_fops;

static int blog_tracefs_open(struct inode *inode, struct file *file)
{
	unsigned long kind = (unsigned long)inode->i_private % BLOG_FILE_KINDS;
	const struct file_operations *const *all;
	const struct file_operations *fops;

	rcu_read_lock();
	all = rcu_dereference(blog_fops);
	/* A logger that is going gives none. */
	fops = all ? fops_get(all[kind]) : NULL;
	rcu_read_unlock();
	if (!fops)
		return -ENODEV;
	replace_fops(file, fops);
	return fops->open(inode, file);
}

static const struct file_operations blog_tracefs_fops = { .open = blog_tracefs_open };

/* From here on, files are opened by @all; NULL: no more, and no such call runs on return. */
void blog_tracefs_use(const struct file_operations *const *all)
{
	rcu_assign_pointer(blog_fops, all);
	if (!all)
		synchronize_rcu();
}
EXPORT_SYMBOL_GPL(blog_tracefs_use);

/* The folder "blog"; NULL if there is no tracefs, or lockdown forbids it. */
struct dentry *blog_tracefs_root(void)
{
	return tracefs_create_dir("blog", NULL);
}
EXPORT_SYMBOL_GPL(blog_tracefs_root);

/* A folder in a folder. */
struct dentry *blog_tracefs_dir(const char *name, struct dentry *parent)
{
	return parent ? tracefs_create_dir(name, parent) : NULL;
}
EXPORT_SYMBOL_GPL(blog_tracefs_dir);

/* A file in a folder; @data % BLOG_FILE_KINDS is its kind. */
void blog_tracefs_file(const char *name, umode_t mode, struct dentry *parent, unsigned long data)
{
	if (parent)
		tracefs_create_file(name, mode, parent, (void *)data, &blog_tracefs_fops);
}
EXPORT_SYMBOL_GPL(blog_tracefs_file);

/* Removes a folder with all that is in it. */
void blog_tracefs_remove(struct dentry *dir)
{
	tracefs_remove(dir);
}
EXPORT_SYMBOL_GPL(blog_tracefs_remove);
