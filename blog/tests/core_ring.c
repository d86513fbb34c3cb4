// SPDX-License-Identifier: GPL-2.0
/*
 * A function of the kernel that core_ring.rs needs.
 */

#include <linux/sched.h>
#include <linux/string.h>

/* Gives the current task another name, without a hook. */
void blog_test_rename(const char *new, char *old);
void blog_test_rename(const char *new, char *old)
{
	memcpy(old, current->comm, TASK_COMM_LEN);
	memcpy(current->comm, new, TASK_COMM_LEN);
}
