// SPDX-License-Identifier: GPL-2.0
/*
 * The machine's names. (The kernel crate doesn't know what is in them.)
 */

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
