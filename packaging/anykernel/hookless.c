// SPDX-License-Identifier: GPL-2.0
/*
 * In place of hook.c, for a kernel without BLog's patches: the rights of readers, by what
 * such a kernel exports. The comment of each function has its limits;
 * docs/stock.rst has all of them.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/security.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "glue.h"

/*
 * As in hook.c. kallsyms_show_value() is not exported; of kptr_restrict, %pK
 * shows whether it hides addresses from everybody. (With kptr_restrict=0 and
 * perf_event_paranoid<=1, /proc/kallsyms shows them without CAP_SYSLOG, too.)
 */
bool blog_shows_addresses(const struct file *file)
{
	char text[32];

	snprintf(text, sizeof(text), "%pK", file);
	return file_ns_capable(file, &init_user_ns, CAP_SYSLOG) &&
	       strspn(text, "0") < strlen(text) && !security_locked_down(LOCKDOWN_DEBUGFS);
}

/* The command line is for this module only where it says "blog.". */
bool blog_boots_off(void)
{
	return false;
}
