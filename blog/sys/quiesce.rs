// SPDX-License-Identifier: GPL-2.0

//! Waiting for log calls.

use kernel::bindings;

// It would be `synchronize_rcu()`, which doesn't wait for a log call that is preempted; nor, in a
// kernel without PREEMPTION that counts all the same, for one that a tick interrupts: a tick takes
// a task with a count of 0 for one that RCU needn't wait for.
#[cfg(all(CONFIG_PREEMPT_COUNT, not(CONFIG_TASKS_RCU)))]
compile_error!("BLog needs CONFIG_TASKS_RCU in a kernel with CONFIG_PREEMPT_COUNT");

/// Waits until all log calls that run now have ended. Process context.
///
/// A log call never sleeps, not even on PREEMPT_RT (it takes no lock), but it may be preempted. So
/// it has ended
///
/// - in a task, when the task has slept by itself or been in user mode, or is gone:
///   `synchronize_rcu_tasks()` waits for that. It also waits for tasks that are exiting, up to
///   where they disable preemption for the last time; from there on, the next point holds. Without
///   PREEMPT_COUNT, a log call is never preempted, and `synchronize_rcu()` waits until each CPU
///   has left it;
/// - in an interrupt, softirq or NMI, and wherever preemption is off, when its CPU has left that:
///   `synchronize_rcu()` waits for it as long as RCU watches the CPU, and the entry of each
///   interrupt and NMI sees to that;
/// - in an idle task, which `synchronize_rcu_tasks()` leaves out: the idle loop and the callbacks
///   of CPU hotplug that idle tasks run have preemption or interrupts off, so it is the same as
///   above, as long as RCU watches. Where it does not (from `ct_cpuidle_enter()` on, or before
///   `rcutree_report_cpu_starting()` and after `rcutree_report_cpu_dead()`) x86 has only noinstr
///   code, checked by objtool, in which logging is not allowed. UML has only its own few lines of C
///   there.
///
/// So `synchronize_rcu_tasks_rude()` would wait for nothing more. On x86, which has
/// ARCH_WANTS_NO_INSTR, it is empty for this very reason.
pub(crate) fn quiesce() {
    // SAFETY: This is process context, where it may sleep.
    unsafe {
        #[cfg(CONFIG_TASKS_RCU)]
        bindings::synchronize_rcu_tasks();
        bindings::synchronize_rcu();
    }
}
