// SPDX-License-Identifier: GPL-2.0

//! Who blocks whom: the locks that tasks wait for, and who holds these. Snapshots, last words and
//! crash tools show that.

use kernel::{
    bindings,
    blog::{
        root::blog_root,
        wire::{
            dump::LockLayout,
            file, //
        }, //
    },
    prelude::*,
    sync::rcu, //
};

use crate::{
    floor::Part,
    tasks::{
        facts,
        WaitChain,
        FIND_CHAIN, //
    }, //
};

pub(crate) static PART: Part = Part {
    start,
    ..Part::NONE
};

unsafe extern "C" {
    // blame.c
    safe fn blog_lock_owner(kind: u32) -> u32;
    fn blog_waits(
        task: *const c_void,
        lock: *mut u64,
        kind: *mut u32,
        flags: *mut u32,
    ) -> *mut c_void;
}

fn start() {
    let locks = locks();
    // SAFETY: The root is there, and nobody else stores to this field.
    unsafe { blog_root.update(|root| (*root).locks = locks) };
    FIND_CHAIN.populate(chain);
}

/// Where locks have their holders, for crash tools.
fn locks() -> LockLayout {
    // As the lowest bits of a blocker say
    LockLayout {
        mutex: blog_lock_owner(0),
        semaphore: blog_lock_owner(1),
        rwsem: blog_lock_owner(2),
        reserved: 0,
    }
}

/// See [`tasks::chain`].
///
/// # Safety
///
/// `task` must be valid.
unsafe fn chain(
    task: *const bindings::task_struct,
    look: &mut dyn FnMut(*mut bindings::task_struct),
) -> WaitChain {
    let mut chain = WaitChain::default();
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
        let holder = (!holder.is_null()).then(|| (holder, unsafe { facts(holder) }.task()));
        let pid = holder.map_or(0, |(_, task)| task.pid);
        let wait = file::Wait {
            lock,
            // SAFETY: As above.
            pid: unsafe { facts(next) }.pid,
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
