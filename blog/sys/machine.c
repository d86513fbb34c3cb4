// SPDX-License-Identifier: GPL-2.0
/*
 * Names: the machine's, and that of a file. (The kernel crate has neither.)
 */

#include <linux/fs.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "glue.h"

/* As uname -r, -m and -n, NUL padded. */
void blog_uts(char *release, char *machine, char *host, size_t size)
{
	strscpy_pad(release, init_utsname()->release, size);
	strscpy_pad(machine, init_utsname()->machine, size);
	strscpy_pad(host, init_utsname()->nodename, size);
}

/* The last part of an open file's path; files in debugfs are not renamed. */
const char *blog_file_name(const struct file *file)
{
	return file->f_path.dentry->d_name.name;
}
