// SPDX-License-Identifier: GPL-2.0

//! Tasks: which one runs where, what one is doing, and the locks of their tables. In C: `tasks.c`.

use core::mem::MaybeUninit;
use kernel::blog::wire::{
    file::{
        self,
        state_letter, //
    },
    record::Context, //
};

use crate::sys::prelude::*;

#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod chain;

unsafe extern "C" {
    safe fn blog_context() -> u32;
    safe fn blog_current() -> *mut c_void;
    fn blog_task_facts(task: *const c_void, facts: *mut TaskFacts);
    safe fn blog_tls_lock(group: u32) -> c_ulong;
    fn blog_tls_unlock(group: u32, flags: c_ulong);

    /// Waits until those of these locks that are held now have been given up. As for [`lock_tls`].
    #[link_name = "blog_tls_sync"]
    pub(crate) safe fn sync_tls();
}

/// Where the caller runs, and on which CPU (which in a task may be another one already). Any
/// context.
pub(crate) fn here() -> (Context, u32) {
    let here = blog_context();
    let context = Context::from_u8(here as u8).unwrap_or(Context::Nmi);
    (context, here >> 8)
}

/// The current task. Any context.
pub(crate) fn current() -> *mut bindings::task_struct {
    blog_current().cast()
}

/// Holds the lock of a group of task tables: interrupts are off until it is dropped.
pub(crate) struct TlsGuard {
    group: u32,
    flags: c_ulong,
    _not_send: kernel::types::NotThreadSafe,
}

/// Takes the lock of a group of task tables, which others may have, too: the caller holds none. Any
/// context but NMI, and not from a log call.
pub(crate) fn lock_tls(group: u32) -> TlsGuard {
    TlsGuard {
        group,
        flags: blog_tls_lock(group),
        _not_send: kernel::types::NotThreadSafe,
    }
}

impl Drop for TlsGuard {
    fn drop(&mut self) {
        // SAFETY: The guard is there, so that group's lock is held, with these flags.
        unsafe { blog_tls_unlock(self.group, self.flags) };
    }
}

/// Fields of a task, as `struct task_struct` has them; `struct blog_task_facts` of `glue.h`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct TaskFacts {
    pub(crate) start_time: u64,
    pub(crate) self_exec_id: u64,
    comm: [u64; 2],
    pub(crate) pid: i32,
    pub(crate) tgid: i32,
    state: u32,
    exit_state: u32,
    is_kernel: u32,
    on_cpu: u32,
    cpu: u32,
}

/// What a task is doing. It may do something else by now. Any context.
///
/// # Safety
///
/// `task` must be valid.
pub(crate) unsafe fn facts(task: *const bindings::task_struct) -> TaskFacts {
    let mut facts = MaybeUninit::uninit();
    // SAFETY: By this function's requirement; all of the facts are stored.
    unsafe {
        blog_task_facts(task.cast(), facts.as_mut_ptr());
        facts.assume_init()
    }
}

/// What the current task is doing. Any context.
pub(crate) fn current_facts() -> TaskFacts {
    // SAFETY: It is valid as long as it runs.
    unsafe { facts(current()) }
}

impl TaskFacts {
    /// The task's name. It may be torn where the task just changed it.
    pub(crate) fn comm(&self) -> [u8; file::COMM_LEN] {
        let [low, high] = self.comm.map(u64::from_le);
        // The last byte is 0 for sure.
        (u128::from(low) | u128::from(high & (u64::MAX >> 8)) << 64).to_le_bytes()
    }

    /// As files have it.
    pub(crate) fn task(&self) -> file::Task {
        let bit = |is: bool, bit| if is { bit } else { 0 };
        let kernel = bit(self.is_kernel != 0, file::TASK_KERNEL);
        let running = bit(self.on_cpu != 0, file::TASK_RUNNING);
        file::Task {
            pid: self.pid,
            tgid: self.tgid,
            comm: self.comm(),
            state: state_letter(self.state, self.exit_state),
            flags: kernel | running,
            reserved: 0,
            cpu: self.cpu,
        }
    }
}
