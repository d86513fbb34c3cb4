// SPDX-License-Identifier: GPL-2.0

//! The table of a task's rings is in a hash table, by the task's address: in kernels whose
//! `task_struct` has no place for it.
//!
//! A task's home is one of [`SLOTS`] slots. If another task has it, a log call looks at the other
//! slots of the bucket, which are in the same cache line. If all of these are taken, the task has
//! no rings of its own and logs to shared ones. Nothing ever moves: a log call of a task takes a
//! slot, which is empty again when that task has ended.

use core::{
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

/// For some 15,000 tasks with rings at a time.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 15;
/// Slots of a bucket.
const BUCKET: usize = 8;

/// For [`ABI`](super::super::call::abi::ABI).
pub(in super::super) const SHAPE: [usize; 2] = [SLOTS, BUCKET];

/// All tasks that have rings. Drivers know it by this name.
///
/// # Invariants
///
/// - From [`init`] on, a slot has [`no_rings`] or a table whose task is at home in its bucket.
/// - A task has one slot, or two where one of its log calls has interrupted another one's [`give`]:
///   calls from there on use the first one of the bucket, and both are its own until it ends.
#[repr(C, align(64))]
pub(super) struct HashTable(pub(super) [AtomicPtr<Tls>; SLOTS]);

#[allow(non_upper_case_globals)]
#[no_mangle]
pub(super) static blog_tasks: HashTable =
    HashTable([const { AtomicPtr::new(ptr::null_mut()) }; SLOTS]);

/// A task's home.
#[inline(always)]
pub(super) fn home(task: *const task_struct) -> usize {
    // Fibonacci hashing: the high bits depend on all bits of the address.
    let hash = (task as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (u64::BITS - SLOT_BITS)) as usize
}

/// The slots that may have its table, from its home on.
pub(super) fn bucket(home: usize) -> impl Iterator<Item = &'static AtomicPtr<Tls>> {
    (0..BUCKET).map(move |way| &blog_tasks.0[home ^ way])
}

/// The table in one of these slots that is this task's.
fn find(home: usize, task: *mut task_struct) -> Option<(&'static AtomicPtr<Tls>, &'static Tls)> {
    bucket(home).find_map(|slot| {
        // ORDERING: Acquire: with a table, the caller finds what its task stored before `give`.
        // SAFETY: By the type invariants there is one, and tables stay as long as BLog runs.
        let table = unsafe { &*slot.load(Acquire) };
        (table.task.load(Relaxed) == task.cast()).then_some((slot, table))
    })
}

/// The table of the current task, or what stands for none. For the fast path.
///
/// Nothing here is a call, for which each record would save registers.
///
/// # Safety
///
/// `task` is the current task.
#[inline(always)]
pub(in super::super) unsafe fn current_table(task: *mut task_struct) -> *const Tls {
    let home = home(task);
    for way in 0..BUCKET {
        // SAFETY: A home is less than `SLOTS`, by the number of its bits; so are the others.
        let table = unsafe { blog_tasks.0.get_unchecked(home ^ way) }.load(Relaxed);
        // SAFETY: As in `find`. What is this task's, the task itself has stored.
        if unsafe { (*table).task.load(Relaxed) } == task.cast() {
            return table;
        }
    }
    no_rings()
}

/// The table of a task, if it has one.
///
/// # Safety
///
/// `task` must be valid.
pub unsafe fn table(task: *mut task_struct) -> Option<&'static Tls> {
    find(home(task), task).map(|(_, table)| table)
}

/// Gives a task its table, of which it is the [`Tls::task`]. `Err`: it has this one already, as a
/// log call that interrupted this one has been faster; or none, as there is no room.
///
/// # Safety
///
/// `task` is the current task, and the caller a log call of it.
pub unsafe fn give(
    task: *mut task_struct,
    table: &'static Tls,
) -> Result<(), Option<&'static Tls>> {
    let new = ptr::from_ref(table).cast_mut();
    // Also where a call that has interrupted this one was faster: others may find this table as
    // soon as it is in its slot, and then it has rings, and can't be given back.
    //
    // ORDERING: As in `find`. A log call that interrupts this one runs on this CPU.
    // INVARIANT: The task is at home in this bucket.
    let taken = bucket(home(task)).any(|slot| {
        slot.compare_exchange(no_rings(), new, AcqRel, Relaxed)
            .is_ok()
    });
    taken.then_some(()).ok_or(None)
}

/// Takes this table from a task; whether it had it.
///
/// # Safety
///
/// `task` must be valid, and doesn't log.
pub unsafe fn take(task: *mut task_struct, table: &Tls) -> bool {
    let table = ptr::from_ref(table).cast_mut();
    // ORDERING: Release: the next task to have the slot comes after all this.
    bucket(home(task)).any(|slot| {
        slot.compare_exchange(table, no_rings(), Release, Relaxed)
            .is_ok()
    })
}

/// Whether [`give`] has room for the table of a task.
pub fn has_room(task: *const task_struct) -> bool {
    bucket(home(task)).any(|slot| slot.load(Relaxed) == no_rings())
}

/// Makes all ready.
///
/// # Safety
///
/// Only once, before anything can log.
pub unsafe fn init() {
    for slot in &blog_tasks.0 {
        // INVARIANT: This is one of both.
        slot.store(no_rings(), Relaxed);
    }
}
