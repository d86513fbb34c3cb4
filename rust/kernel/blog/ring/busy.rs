// SPDX-License-Identifier: GPL-2.0

//! Whose turn it is to write into a ring: at any instant, there is one writer at most.

use super::peek::Peek;
use core::sync::atomic::{
    compiler_fence,
    AtomicU32,
    Ordering::{
        Acquire,
        Relaxed,
        Release,
        SeqCst, //
    }, //
};

/// Whether a record is being written into the ring.
///
/// # Invariants
///
/// It is 1 from a [`Self::begin`] or [`Self::claim`] that returned true until the [`Self::end`]
/// that belongs to it, and then there is one such writer; else it is 0. Of a ring without a writer,
/// it may be 1 for good.
#[repr(transparent)]
pub(super) struct Busy(AtomicU32);

impl Busy {
    /// One that is busy for good if `busy`, else one for whom no record has begun.
    pub(super) const fn new(busy: bool) -> Self {
        Self(AtomicU32::new(busy as u32))
    }

    /// Begins a record; false where one has begun already.
    ///
    /// It need not be one atomic step: who comes between the load and the store has gone again when
    /// the store happens.
    ///
    /// # Safety
    ///
    /// The ring has writers in one context only, and the caller runs there.
    #[inline(always)]
    pub(super) unsafe fn begin(&self) -> bool {
        // SAFETY: By this function's requirement.
        if unsafe { self.0.peek() } != 0 {
            return false;
        }
        // INVARIANT: No record has begun, and who might begin one meanwhile interrupts this code,
        // and has ended it when this goes on.
        self.0.store(1, Relaxed);
        // ORDERING: A nested writer runs on this CPU, between two instructions of this code, so it
        // is enough that the compiler keeps what follows behind the store.
        compiler_fence(SeqCst);
        true
    }

    /// As [`Self::begin`], for rings that have writers in several contexts.
    pub(super) fn claim(&self) -> bool {
        // ORDERING: Acquire: the stores of the writer before are visible. It pairs with `end`.
        self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    /// Ends what [`Self::begin`] or [`Self::claim`] began.
    ///
    /// # Safety
    ///
    /// It returned true, for the caller; or the ring has no writer, and is the caller's.
    #[inline(always)]
    pub(super) unsafe fn end(&self) {
        // ORDERING: Release keeps the stores of the record before this one, for nested writers on
        // this CPU, and for the next writer of a shared ring: it pairs with `claim`.
        self.0.store(0, Release);
    }
}
