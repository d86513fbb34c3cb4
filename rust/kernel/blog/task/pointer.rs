// SPDX-License-Identifier: GPL-2.0

//! The table of a task's rings is in the task itself: `task_struct::blog_tls`, a field that a patch
//! adds.

use core::{
    mem::offset_of,
    ptr,
    sync::atomic::{
        AtomicPtr,
        Ordering::*, //
    }, //
};

use super::{
    no_rings,
    Tls, //
};
use crate::bindings::task_struct;

/// Where in a task crash tools find it.
pub const OFFSET: u32 = offset_of!(task_struct, blog_tls) as u32;

/// For [`ABI`](super::super::call::abi::ABI).
pub(in super::super) const SHAPE: [usize; 1] = [OFFSET as usize];

/// # Safety
///
/// `task` must be valid for `'a`.
#[inline(always)]
unsafe fn field<'a>(task: *mut task_struct) -> &'a AtomicPtr<Tls> {
    // SAFETY: By this function's requirement; only atomics access this field while BLog runs.
    unsafe { AtomicPtr::from_ptr((&raw mut (*task).blog_tls).cast()) }
}

/// The table of the current task, or what stands for none. For the fast path.
///
/// # Safety
///
/// `task` is the current task.
#[inline(always)]
pub(in super::super) unsafe fn current_table(task: *mut task_struct) -> *const Tls {
    // SAFETY: The current task is valid.
    unsafe { field(task) }.load(Relaxed)
}

/// The table of a task, if it has one.
///
/// # Safety
///
/// `task` must be valid.
#[inline]
pub unsafe fn table(task: *mut task_struct) -> Option<&'static Tls> {
    // SAFETY: By this function's requirement.
    some(unsafe { field(task) }.load(Acquire))
}

/// The address of that table, for code that follows a pointer only by `fetch`, which reads a word.
///
/// # Safety
///
/// `task` must be valid.
pub unsafe fn table_at(task: *mut task_struct, _: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    // SAFETY: By this function's requirement.
    let table = unsafe { field(task) }.load(Acquire);
    (table != no_rings()).then_some(table as u64)
}

/// A table, where it doesn't stand for none.
#[inline]
fn some(table: *mut Tls) -> Option<&'static Tls> {
    // SAFETY: It is what `give` got, and tables stay as long as BLog runs.
    (table != no_rings()).then(|| unsafe { &*table })
}

/// Gives a task its table, of which it is the [`Tls::task`]. `Err`: it has this one already, as a
/// log call that interrupted this one has been faster; or none, as there is no room.
///
/// # Safety
///
/// `task` is the current task, and the caller a log call of it.
#[inline]
pub unsafe fn give(
    task: *mut task_struct,
    table: &'static Tls,
) -> Result<(), Option<&'static Tls>> {
    let new = ptr::from_ref(table).cast_mut();
    // SAFETY: The current task is valid.
    let field = unsafe { field(task) };
    match field.compare_exchange(no_rings(), new, AcqRel, Acquire) {
        Ok(_) => Ok(()),
        Err(other) => Err(some(other)),
    }
}

/// Takes this table from a task; whether it had it.
///
/// # Safety
///
/// `task` must be valid, and doesn't log.
#[inline]
pub unsafe fn take(task: *mut task_struct, table: &Tls) -> bool {
    let table = ptr::from_ref(table).cast_mut();
    // SAFETY: By this function's requirement.
    unsafe { field(task) }
        .compare_exchange(table, no_rings(), Acquire, Relaxed)
        .is_ok()
}

/// Makes all ready.
///
/// # Safety
///
/// Only once, before anything can log.
pub unsafe fn init() {}

/// Whether [`give`] has room for the table of a task.
pub fn has_room(_task: *const task_struct) -> bool {
    true
}
