// SPDX-License-Identifier: GPL-2.0
/*
 * Files of BLog in tracefs. This part is built in: tracefs exports no function that makes a folder.
 */

#include <linux/export.h>
#include <linux/tracefs.h>

#include "glue.h"

/*
 * A folder in a folder, or in tracefs itself; NULL if there is no tracefs, or lockdown forbids it.
 */
struct dentry *blog_tracefs_dir(const char *name, struct dentry *parent)
{
	return tracefs_create_dir(name, parent);
}
EXPORT_SYMBOL_GPL(blog_tracefs_dir);

/* A file in a folder, with @data for its operations. */
void blog_tracefs_file(const char *name, umode_t mode, struct dentry *parent, unsigned long data,
		       const struct file_operations *fops)
{
	if (parent)
		tracefs_create_file(name, mode, parent, (void *)data, fops);
}
EXPORT_SYMBOL_GPL(blog_tracefs_file);

/* Removes a folder with all that is in it. */
void blog_tracefs_remove(struct dentry *dir)
{
	tracefs_remove(dir);
}
EXPORT_SYMBOL_GPL(blog_tracefs_remove);
