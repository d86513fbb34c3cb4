// SPDX-License-Identifier: GPL-2.0

//! Tasks: which one runs where, what one is doing, and the locks of their tables. In C: `tasks.c`.

use core::mem::offset_of;
use kernel::{
    bindings,
    blog::wire::{
        dump::{
            state_letter,
            LockLayout, //
        },
        file,
        record::Context, //
    },
    prelude::*,
    sync::rcu, //
};

unsafe extern "C" {
    safe fn blog_where() -> u32;
    safe fn blog_current() -> *mut c_void;
    fn blog_cpu_of(task: *const c_void) -> u32;
    safe fn blog_lock_owner(kind: u32) -> u32;
    fn blog_waits(
        task: *const c_void,
        lock: *mut u64,
        kind: *mut u32,
        flags: *mut u32,
    ) -> *mut c_void;
    safe fn blog_tls_lock(group: u32) -> c_ulong;
    fn blog_tls_unlock(group: u32, flags: c_ulong);

    /// Waits until those of these locks that are held now have been given up. As for [`lock_tls`].
    #[link_name = "blog_tls_sync"]
    pub(crate) safe fn sync_tls();
}

/// Where the caller runs, and on which CPU (which in a task may be another one already). Any
/// context.
pub(crate) fn here() -> (Context, u32) {
    let here = blog_where();
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

/// What a task is doing. It may do something else by now.
///
/// # Safety
///
/// `task` must be valid.
pub(crate) unsafe fn facts(task: *const bindings::task_struct) -> file::Task {
    // SAFETY: By this function's requirement.
    let (state, exit_state, flags, on_cpu, pid, tgid, comm) = unsafe {
        (
            (&raw const (*task).__state).read_volatile(),
            (&raw const (*task).exit_state).read_volatile(),
            (&raw const (*task).flags).read_volatile(),
            (&raw const (*task).on_cpu).read_volatile(),
            (*task).pid,
            (*task).tgid,
            comm(task),
        )
    };
    let bit = |is: bool, bit| if is { bit } else { 0 };
    let kernel = bit(flags & bindings::PF_KTHREAD != 0, file::TASK_KERNEL);
    let running = bit(on_cpu != 0, file::TASK_RUNNING);
    file::Task {
        pid,
        tgid,
        comm,
        state: state_letter(state, exit_state as u32),
        flags: kernel | running,
        reserved: 0,
        // SAFETY: As above.
        cpu: unsafe { blog_cpu_of(task.cast()) },
    }
}

/// Where locks have their holders, for crash tools.
pub(crate) fn locks() -> LockLayout {
    // As the lowest bits of a blocker say
    LockLayout {
        mutex: blog_lock_owner(0),
        semaphore: blog_lock_owner(1),
        rwsem: blog_lock_owner(2),
        reserved: 0,
    }
}

/// What a task waits for, and who holds that; what that one waits for, and so on.
pub(crate) type Chain = [Option<(file::Wait, Option<file::Task>)>; file::WAIT_LINKS];

/// The chain of a task, up to whom it has had before. `look` looks at each holder, which is valid
/// as long as RCU's lock is held.
///
/// # Safety
///
/// `task` must be valid.
pub(crate) unsafe fn chain(
    task: *const bindings::task_struct,
    mut look: impl FnMut(*mut bindings::task_struct),
) -> Chain {
    let mut chain = Chain::default();
    let _rcu = rcu::read_lock();
    let mut next = task;
    for n in 0..chain.len() {
        let (mut lock, mut kind, mut flags) = (0, 0, 0);
        // SAFETY: `next` is valid: the caller says so of the first one, and the others are what
        // this has returned, while RCU is held. The other arguments are valid for writes.
        let holder = unsafe { blog_waits(next.cast(), &mut lock, &mut kind, &mut flags) };
        let holder = holder.cast::<bindings::task_struct>();
        if kind == 0 {
            break;
        }
        // SAFETY: As above.
        let holder = (!holder.is_null()).then(|| (holder, unsafe { facts(holder) }));
        let pid = holder.map_or(0, |(_, task)| task.pid);
        let wait = file::Wait {
            lock,
            // SAFETY: As above.
            pid: unsafe { (*next).pid },
            holder: pid,
            kind,
            flags,
        };
        let known = chain.iter().flatten().any(|(wait, _)| wait.pid == pid);
        if let Some(link) = chain.get_mut(n) {
            *link = Some((wait, holder.map(|(_, task)| held(task))));
        }
        match holder {
            Some((task, _)) if !known => {
                look(task);
                next = task;
            }
            _ => break,
        }
    }
    chain
}

fn held(task: file::Task) -> file::Task {
    file::Task {
        flags: task.flags | file::TASK_HOLDER,
        ..task
    }
}

/// A task's name. It may be torn while the task changes it.
///
/// # Safety
///
/// `task` must be valid.
pub(crate) unsafe fn comm(task: *const bindings::task_struct) -> [u8; 16] {
    const { assert!(offset_of!(bindings::task_struct, comm) % align_of::<u64>() == 0) };
    // SAFETY: By this function's requirement.
    let words = unsafe { &raw const (*task).comm }.cast::<u64>();
    // SAFETY: By this function's requirement there are two such words, aligned. It may be just
    // changing.
    let words = unsafe { [words.read_volatile(), words.add(1).read_volatile()] };
    let comm = u128::from(words[0].to_le()) | u128::from(words[1].to_le() & (u64::MAX >> 8)) << 64;
    // The last byte is 0 for sure.
    comm.to_le_bytes()
}
