// SPDX-License-Identifier: GPL-2.0
/*
 * The built-in part of BLog: the hook for a task with rings that ends or gets another name, if it
 * has a pointer to them (else task_hook.c). The logger itself may be a module, so it registers its
 * function here when it is ready.
 *
 * Nothing here dereferences tsk->blog_tls, and nothing here is on a logging path.
 */

#include <linux/blog.h>
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/security.h>

#include "glue.h"

#ifdef CONFIG_BLOG_TASK_POINTER
/* Set once, when the logger starts. */
static void (*blog_task_hook)(struct task_struct *tsk, bool freed);

/*
 * A task with rings has another name, or its last reference is gone. Called by __set_task_comm(),
 * and by free_task() in any context that frees a task, softirq included.
 */
void __blog_task_changed(struct task_struct *tsk, bool freed)
{
	void (*hook)(struct task_struct *tsk, bool freed) = READ_ONCE(blog_task_hook);

	if (hook)
		hook(tsk, freed);
	if (freed)
		blog_task_init(tsk);
}

/* From here on, the hook is called. */
int blog_start_task_hook(void (*hook)(struct task_struct *tsk, bool freed))
{
	WRITE_ONCE(blog_task_hook, hook);
	return 0;
}
EXPORT_SYMBOL_GPL(blog_start_task_hook);
#endif

/*
 * Whether kernel addresses are for the user who opened a file: by the rule of /proc/kallsyms,
 * kptr_restrict, and CAP_SYSLOG when it was opened; and at integrity, for nobody.
 */
bool blog_shows_addresses(const struct file *file)
{
	return kallsyms_show_value(file->f_cred) && !security_locked_down(LOCKDOWN_DEBUGFS);
}
EXPORT_SYMBOL_GPL(blog_shows_addresses);

/* "blog=off" */
static bool blog_is_on __ro_after_init = true;
core_param(blog, blog_is_on, bool, 0);

/* Whether no component is to log until it is switched on. */
bool blog_boots_off(void)
{
	return !blog_is_on;
}
EXPORT_SYMBOL_GPL(blog_boots_off);
