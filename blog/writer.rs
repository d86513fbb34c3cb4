// SPDX-License-Identifier: GPL-2.0

//! The slow path of a log call: what a driver's inlined code calls when it has no ring yet, or no
//! room in its page.
//!
//! Runs wherever drivers log: in tasks, softirqs, hard interrupts and NMIs, with any locks held,
//! inside the allocator or the scheduler. So nothing here locks, waits, wakes, allocates or calls
//! anything of the kernel that can be traced; all it uses is the pool, and tables that were made
//! before. Whatever can't be had is counted as a loss.

use core::{
    ptr,
    sync::atomic::Ordering::{
        AcqRel,
        Acquire, //
    }, //
};
use kernel::{
    blog::{
        record::{
            Context,
            Lost, //
        },
        ring::{
            Mode,
            Owner,
            Ring, //
        },
        RawComponent, //
    }, //
};

use crate::{
    component::State,
    glue,
    pool::{
        PagesOf,
        Store, //
    },
    task, //
};

/// The state of a component that somebody logs to.
///
/// # Safety
///
/// `raw` is valid, and the caller is a log call to it.
unsafe fn state_of<'a>(raw: *const RawComponent) -> Option<&'a State> {
    // SAFETY: `raw` is valid. Its state was stored before it was switched on, and stays valid
    // while anybody can log to it.
    unsafe { (*raw).state.load(Acquire).cast::<State>().as_ref() }
}

/// Finds or makes the ring for the calling context: see `kernel::blog::abi`.
///
/// # Safety
///
/// `raw` is valid, and the caller is a log call to it.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_ring_get(raw: *const RawComponent) -> *mut Ring {
    // SAFETY: By this function's requirements.
    let Some(state) = (unsafe { state_of(raw) }) else {
        return ptr::null_mut();
    };
    // SAFETY: This is a log call.
    let ring = unsafe { ring_of(state) };
    if ring.is_none() {
        state.count_lost(Lost::NoRing);
    }
    ring.unwrap_or(ptr::null_mut())
}

/// The ring for the calling context.
///
/// # Safety
///
/// The caller is a log call to `state`.
unsafe fn ring_of(state: &State) -> Option<*mut Ring> {
    // SAFETY: By this function's requirement.
    let memory = unsafe { state.live_memory() }?;
    let (context, cpu) = glue::here();
    if context != Context::Task {
        let ring = memory.percpu_ring(cpu, context);
        return (!ring.is_null()).then_some(ring);
    }
    let slot = task::get()?.rings.get(usize::from(state.slot()))?;
    // ORDERING: Acquire, though it was stored by this very task: costs nothing.
    let known = slot.load(Acquire);
    if !known.is_null() {
        return Some(known);
    }
    let id = memory.pool.take_ring(&memory.store)?;
    let ring = memory.store.ring(id)?;
    // SAFETY: The current task is valid.
    let owner = unsafe {
        let task = glue::current();
        Owner {
            context,
            cpu: u32::MAX,
            pid: (*task).pid,
            tgid: (*task).tgid,
            comm: task::comm(task),
        }
    };
    // SAFETY: The ring was just taken out of the free ones.
    unsafe { ring.adopt(&owner) };
    let new = ptr::from_ref(ring).cast_mut();
    // ORDERING: Release: who finds the ring in the table finds it adopted.
    match slot.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire) {
        Ok(_) => Some(new),
        Err(faster) => {
            // A log call that interrupted this one was faster; nobody has seen this ring.
            // SAFETY: The ring has no writer.
            unsafe { ring.retire(owner.comm, 0) };
            memory.pool.retire(&memory.store, id);
            Some(faster)
        }
    }
}

/// Makes room in a ring: see `kernel::blog::abi`.
///
/// # Safety
///
/// `raw` is valid, `ring` is one of its rings, and the caller is in [`Ring::write`] on it.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_ring_turn(
    raw: *const RawComponent,
    ring: *mut Ring,
    bytes: u32,
    ts: u64,
) -> bool {
    // SAFETY: A ring that somebody writes to is valid.
    let ring = unsafe { &*ring };
    // SAFETY: By this function's requirements; the caller is a log call.
    let memory = unsafe { state_of(raw).and_then(|state| Some((state, state.live_memory()?))) };
    let Some((state, memory)) = memory else {
        ring.count_lost(Lost::NoPage, 1);
        return false;
    };
    let mode = match state.mode() {
        // What `clear` has hidden need not be kept.
        Mode::Discard if memory.oldest_is_cleared(ring) => Mode::Overwrite,
        mode => mode,
    };
    let pages = PagesOf(&memory.pool, &memory.store);
    // SAFETY: By this function's requirements; the pool is the one of all of the ring's pages.
    unsafe { ring.turn(&pages, mode, state.max_pages(), bytes, ts) }
}
