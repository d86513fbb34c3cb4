// SPDX-License-Identifier: GPL-2.0
/*
 * The folder "blog" with its files, in tracefs (of a patched kernel) and in debugfs:
 * the same files, wherever the kernel has a place for them. A file's data is the
 * number of its subject, which BLog looks up whenever the file is opened.
 */

#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kconfig.h>
#include <linux/printk.h>

#include "glue.h"

/* Whether there is sys/tracefs.c: else the compiler drops what calls it. */
#define BLOG_HAS_TRACEFS (IS_ENABLED(CONFIG_BLOG_HOOKS) && IS_ENABLED(CONFIG_TRACING))

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

/*
 * A file in it. Debugfs's own guard around each call isn't needed: what is open
 * keeps what it needs.
 */
void blog_file_create(const char *name, umode_t mode, const struct blog_dir *in, unsigned long data,
		      const struct file_operations *fops)
{
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
