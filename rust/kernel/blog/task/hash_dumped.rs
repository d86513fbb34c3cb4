// SPDX-License-Identifier: GPL-2.0

//! The hash table for crashes, and for crash tools.

use super::{
    super::wire::dump::NO_FIELD,
    hash::{
        blog_tasks,
        bucket,
        home, //
    },
    Tls, //
};
use crate::bindings::task_struct;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::Acquire, //
};

/// Crash tools have a task's table from the list of all tables.
pub const OFFSET: u32 = NO_FIELD;

/// The task of the table in a slot: see [`table_at`].
fn task_in(slot: &AtomicPtr<Tls>, fetch: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    fetch((slot.load(Acquire) as u64).wrapping_add(Tls::LAYOUT.task.into()))
}

/// The address of that table, for code that follows a pointer only by `fetch`, which reads a word.
///
/// # Safety
///
/// `task` must be valid.
pub unsafe fn table_at(task: *mut task_struct, fetch: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let slot = bucket(home(task)).find(|slot| task_in(slot, &fetch) == Some(task as u64))?;
    Some(slot.load(Acquire) as u64)
}

/// Calls `f` with each task that has rings. It may be ending, or have ended. Any context; `fetch`
/// as for [`table_at`].
pub fn for_each(fetch: impl Fn(u64) -> Option<u64>, mut f: impl FnMut(*const task_struct)) {
    for slot in &blog_tasks.0 {
        // Null before [`init`].
        if let Some(task) = task_in(slot, &fetch).filter(|task| *task != 0) {
            f(task as *const task_struct);
        }
    }
}
