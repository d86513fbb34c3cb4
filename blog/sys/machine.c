// SPDX-License-Identifier: GPL-2.0
/*
 * Names: the machine's, and that of a file. (The kernel crate has neither.)
 */

#include <linux/fs.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "glue.h"

/* As uname -r, -m and -n, NUL padded. */
void blog_uts(char names[3][64])
{
	strscpy_pad(names[0], init_utsname()->release, sizeof(names[0]));
	strscpy_pad(names[1], init_utsname()->machine, sizeof(names[0]));
	strscpy_pad(names[2], init_utsname()->nodename, sizeof(names[0]));
}

/* The last part of an open file's path; files in debugfs are not renamed. */
const char *blog_file_name(const struct file *file)
{
	return file->f_path.dentry->d_name.name;
}
