// SPDX-License-Identifier: GPL-2.0
/* What the kernel lacks. */

#include "glue.h"

/*
 * What BLog can't do as the kernel lacks what that takes: names that are in
 * Documentation/blog/, "stats", or "none". The kernel is the one that this was
 * compiled for.
 */
const char *blog_lacks(void)
{
	static const char names[] = ""
#ifndef CONFIG_BLOG_HOOKS
				    " builtin tracefs"
#endif
#ifdef BLOG_LACKS_RESERVE_MEM
				    " reboot"
#endif
#ifdef BLOG_LACKS_PANIC_ON_THIS_CPU
				    " freeze"
#endif
#if !defined(CONFIG_KPROBES) || !defined(CONFIG_KRETPROBES)
				    " probes"
#endif
#ifndef CONFIG_DETECT_HUNG_TASK
				    " hang"
#endif
#ifndef CONFIG_DETECT_HUNG_TASK_BLOCKER
				    " blocker"
#endif
		;

	return *names ? names + 1 : "none";
}
