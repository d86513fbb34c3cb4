// SPDX-License-Identifier: GPL-2.0

//! User mode Linux, a process of x86_64. With one CPU, its task is found without a call, which
//! would have the caller save its registers.

pub(in super::super) use super::{
    generic::interrupt,
    x86_64::counter, //
};

#[cfg(CONFIG_SMP)]
pub(in super::super) use super::generic::task;

/// The current task; `None` in an interrupt context.
#[cfg(not(CONFIG_SMP))]
#[inline(always)]
pub(in super::super) fn task() -> Option<core::ptr::NonNull<crate::bindings::task_struct>> {
    use crate::bindings;

    let tasks = (&raw const bindings::cpu_tasks).cast::<*mut bindings::task_struct>();
    // SAFETY: The first one is what the only CPU runs.
    let task = unsafe { tasks.read_volatile() };
    // SAFETY: The current task is valid. Only this CPU changes its preemption count.
    let count = unsafe { (&raw const (*task).thread_info.preempt_count).read_volatile() };
    // SAFETY: There is always a current task.
    let task = unsafe { core::ptr::NonNull::new_unchecked(task) };
    (count as u32 & super::INTERRUPT == 0).then_some(task)
}
