// SPDX-License-Identifier: GPL-2.0
/*
 * Files of BLog in tracefs. This part is built in: tracefs exports no function that makes a folder.
 *
 * A folder takes a few bytes: as with events, tracefs makes the inodes of its files when they are
 * looked up, and frees them when memory is needed.
 */

#include <linux/err.h>
#include <linux/export.h>
#include <linux/string.h>
#include <linux/tracefs.h>

#include "glue.h"

static const struct blog_file *blog_tracefs_files[BLOG_FOLDERS];
static struct eventfs_entry blog_entries[BLOG_FOLDERS][BLOG_FILES_MAX];

/* Says what a file is like that is in a folder; @data is what it was made with. */
static int blog_tracefs_file(const char *name, umode_t *mode, void **data,
			     const struct file_operations **fops)
{
	const struct blog_file *file = blog_tracefs_files[(unsigned long)*data % BLOG_FOLDERS];

	while (strcmp(file->name, name))
		file++;
	*mode = file->mode;
	*fops = file->fops;
	return 1;
}

/*
 * A folder in a folder, or in tracefs itself, with these files, which stay, and with this data for
 * each; one at a time. NULL or an error if there is no tracefs, or lockdown forbids it.
 */
struct eventfs_inode *blog_tracefs_dir(enum blog_folder folder, const char *name,
				       struct eventfs_inode *in, const struct blog_file *files,
				       unsigned long of)
{
	struct eventfs_entry *entries = blog_entries[folder];
	int count;

	blog_tracefs_files[folder] = files;
	for (count = 0; files[count].name; count++) {
		entries[count].name = files[count].name;
		entries[count].callback = blog_tracefs_file;
	}
	if (in)
		return eventfs_create_dir(name, in, entries, count, (void *)of);
	return eventfs_create_events_dir(name, NULL, entries, count, (void *)of);
}
EXPORT_SYMBOL_GPL(blog_tracefs_dir);

/* Removes a folder in ours, with all that is in it. */
void blog_tracefs_remove(struct eventfs_inode *dir)
{
	if (!IS_ERR(dir))
		eventfs_remove_dir(dir);
}
EXPORT_SYMBOL_GPL(blog_tracefs_remove);
