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
        self,
        chain, //
    }, //
};

pub(crate) static PART: Part = Part {
    start,
    ..Part::NONE
};

unsafe extern "C" {
    // blame.c
    safe fn blog_lock_owner(kind: u32) -> u32;
    fn blog_waits(task: *const c_void, wait: &mut file::Wait) -> *mut c_void;
}

/// Shows crash tools where locks have their holders.
fn start() {
    // As the lowest bits of a blocker say
    let locks = LockLayout {
        mutex: blog_lock_owner(0),
        semaphore: blog_lock_owner(1),
        rwsem: blog_lock_owner(2),
        reserved: 0,
    };
    // SAFETY: The root is there, and nobody else stores to this field.
    unsafe { blog_root.update(|root| (*root).locks = locks) };
    chain::FIND_CHAIN.populate(chain_of);
}

/// See [`chain::chain`].
///
/// # Safety
///
/// `task` must be valid.
unsafe fn chain_of(
    task: *const bindings::task_struct,
    look: &mut dyn FnMut(*mut bindings::task_struct),
) -> chain::WaitChain {
    let mut chain = chain::WaitChain::default();
    let _rcu = rcu::read_lock();
    let mut next = task;
    for n in 0..chain.len() {
        let mut wait = file::Wait::default();
        // SAFETY: `next` is valid: the caller says so of the first one, and the others are what
        // this has returned, while RCU is held.
        let holder = unsafe { blog_waits(next.cast(), &mut wait) }.cast::<bindings::task_struct>();
        if wait.kind == 0 {
            break;
        }
        let mut known = chain.iter().flatten();
        let is_known = known.any(|(known, _)| known.pid == wait.holder);
        let task = (!holder.is_null()).then(|| {
            // SAFETY: As above.
            let task = unsafe { tasks::facts(holder) }.task();
            file::Task {
                flags: task.flags | file::TASK_HOLDER,
                ..task
            }
        });
        if let Some(link) = chain.get_mut(n) {
            *link = Some((wait, task));
        }
        if task.is_none() || is_known {
            break;
        }
        look(holder);
        next = holder;
    }
    chain
}
