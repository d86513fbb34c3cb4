// SPDX-License-Identifier: GPL-2.0
/*
 * What suites of the logger's insides compare it with: core_locks.rs and
 * core_root.rs.
 */

#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "../sys/glue.h"

/* Has lockdep think that memory is freed from here on, to make room. */
void blog_pretend_reclaim(bool begin)
{
	if (begin)
		fs_reclaim_acquire(GFP_KERNEL);
	else
		fs_reclaim_release(GFP_KERNEL);
}

/* What state_letter() of rust/kernel/blog/wire/dump.rs is to say. */
char blog_state_letter(u32 state, u32 exit_state)
{
	return task_index_to_char(__task_state_index(state, exit_state));
}
