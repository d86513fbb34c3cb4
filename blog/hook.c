// SPDX-License-Identifier: GPL-2.0
/*
 * The built-in part of BLog: the hook that free_task() calls for a task that
 * owns rings. The logger itself may be a module, so it registers the function
 * here when it is ready and takes it back before it goes.
 *
 * Nothing here looks at what tsk->blog_tls points to, and nothing here is on a
 * logging path.
 */

#include <linux/blog.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

static void (__rcu *blog_task_hook)(struct task_struct *tsk);

/* Serialises registration; readers of blog_task_hook use RCU. */
static DEFINE_MUTEX(blog_task_hook_lock);

/**
 * __blog_task_free - hand a dying task's rings to the logger
 * @tsk: task whose last reference is gone, with a non-NULL blog_tls
 *
 * Called by free_task() in any context that frees a task, softirq included.
 * Without a registered hook there is nobody left who owns the rings, and the
 * pointer is only forgotten.
 */
void __blog_task_free(struct task_struct *tsk)
{
	void (*hook)(struct task_struct *tsk);

	rcu_read_lock();
	hook = rcu_dereference(blog_task_hook);
	if (hook)
		hook(tsk);
	rcu_read_unlock();
	tsk->blog_tls = NULL;
}

/**
 * blog_register_task_hook - ask to be called for each dying task with rings
 * @fn: called under rcu_read_lock(), must not sleep
 *
 * Return: 0, or -EBUSY if a hook is registered already.
 */
int blog_register_task_hook(void (*fn)(struct task_struct *tsk))
{
	int ret = 0;

	mutex_lock(&blog_task_hook_lock);
	if (rcu_access_pointer(blog_task_hook))
		ret = -EBUSY;
	else
		rcu_assign_pointer(blog_task_hook, fn);
	mutex_unlock(&blog_task_hook_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(blog_register_task_hook);

/**
 * blog_unregister_task_hook - take the hook back
 *
 * When this returns, the hook isn't running on any CPU and won't be called
 * again. Tasks may still carry a blog_tls: the caller clears them all before
 * its memory goes, also those that have left the task list but that somebody
 * still holds a reference to.
 */
void blog_unregister_task_hook(void)
{
	mutex_lock(&blog_task_hook_lock);
	RCU_INIT_POINTER(blog_task_hook, NULL);
	mutex_unlock(&blog_task_hook_lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(blog_unregister_task_hook);
