// SPDX-License-Identifier: GPL-2.0
/* Who holds the lock that a task waits for. */

#include <linux/compiler.h>
#include <linux/hung_task.h>
#include <linux/limits.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/semaphore.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include "../../sys/nofault.h"
#include "blame.h"

/* Where a lock of this kind has its owner; U32_MAX: nowhere that the kernel knows of. */
u32 blog_lock_owner(u32 kind)
{
#ifdef CONFIG_DETECT_HUNG_TASK_BLOCKER
	switch (kind) {
#ifndef CONFIG_PREEMPT_RT
	case BLOCKER_TYPE_MUTEX:
		return offsetof(struct mutex, owner);
	case BLOCKER_TYPE_RWSEM_READER:
	case BLOCKER_TYPE_RWSEM_WRITER:
		return offsetof(struct rw_semaphore, owner);
#endif
	case BLOCKER_TYPE_SEM:
		return offsetof(struct semaphore, last_holder);
	}
#endif
	return U32_MAX;
}

/* As enum LockKind and WAIT_READERS, WAIT_GONE of rust/kernel/blog/wire/file.rs */
#define BLOG_LOCK_KINDS	  1
#define BLOG_WAIT_READERS 1
#define BLOG_WAIT_GONE	  2

/*
 * The lock that a task waits for, as a number, if the kernel knows of it (kind: 0 if not), and who
 * holds that: NULL, or a task that is there as long as the caller is under rcu_read_lock(). This
 * takes no lock: the task may have got its lock meanwhile, which may be gone, so what is read is
 * checked.
 */
struct task_struct *blog_waits(const struct task_struct *task, struct blog_wait *wait)
{
	*wait = (struct blog_wait){ .pid = task->pid };
#ifdef CONFIG_DETECT_HUNG_TASK_BLOCKER
	unsigned long blocker = READ_ONCE(task->blocker);
	u32 type = blocker & BLOCKER_TYPE_MASK;
	struct task_struct *owner;
	unsigned long word;
	pid_t pid;

	if (!blocker || blog_lock_owner(type) == U32_MAX)
		return NULL;
	wait->kind = type + BLOG_LOCK_KINDS;
	blocker -= type;
	/* Not everybody who reads this may see addresses. */
	wait->lock = blog_hash_lock(blocker);
	if (get_kernel_nofault(word, (unsigned long *)(blocker + blog_lock_owner(type))))
		return NULL;
	/* Who waits for the lock still, after the word was read, has kept the lock there. */
	smp_rmb();
	if (READ_ONCE(task->blocker) != blocker + type)
		return NULL;
	if (type != BLOCKER_TYPE_MUTEX && type != BLOCKER_TYPE_SEM && word & 1)
		wait->flags = BLOG_WAIT_READERS;
	/* No lock has more than three bits of flags there, nor has a task's address any. */
	owner = (struct task_struct *)(word & ~7UL);
	if (!owner)
		return NULL;
	if (!get_kernel_nofault(pid, &owner->pid) &&
	    pid_task(find_pid_ns(pid, &init_pid_ns), PIDTYPE_PID) == owner) {
		wait->holder = pid;
		return owner;
	}
	wait->flags |= BLOG_WAIT_GONE;
#endif
	return NULL;
}
