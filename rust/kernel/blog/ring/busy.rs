// SPDX-License-Identifier: GPL-2.0

//! The right to write into a ring: at any instant, at most one writer has it.

use super::{
    super::wire::page::RING_BUSY,
    peek::Peek,
    Ring, //
};
use core::{
    marker::PhantomData,
    sync::atomic::{
        compiler_fence,
        Ordering::*, //
    }, //
};

/// One claim, in the bits between the slot and [`RING_BUSY`].
const CLAIM: u32 = 1 << 16;

/// The right to write into a ring. Dropping it ends the record, of which there is then what has
/// been published.
///
/// It crosses the interface between drivers and `blog/` as the pointer that it is; null is `None`.
///
/// # Invariants
///
/// [`Ring::begin`] or [`Ring::claim`] has marked the ring as busy for this writer, which has not
/// ended that: there is no other one.
#[repr(transparent)]
pub struct Writing<'a> {
    ring: &'a Ring,
    /// Its context is that of the ring.
    _not_send: PhantomData<*mut ()>,
}

impl<'a> Writing<'a> {
    /// The ring.
    #[inline(always)]
    pub fn ring(&self) -> &'a Ring {
        self.ring
    }
}

impl Drop for Writing<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.ring.set_idle();
    }
}

impl Ring {
    /// Begins a record; `None` where one has begun already, or where the ring is of another
    /// component than the one whose slot `slot` says.
    ///
    /// The slot stays in the word, so that nobody has to keep it in a register. It need not be one
    /// atomic step: a nested writer between the load and the store has finished before the store.
    ///
    /// # Safety
    ///
    /// The ring isn't shared, and the caller runs in its context; or it is busy for good.
    #[inline(always)]
    pub unsafe fn begin(&self, slot: impl FnOnce() -> u32) -> Option<Writing<'_>> {
        let busy = &self.busy;
        // In this order, the other one is an operand of the comparison.
        if busy.peek() != slot() {
            return None;
        }
        // INVARIANT: No record has begun; and a writer that begins one meanwhile interrupts this
        // code, and has ended it when this goes on.
        busy.store(busy.load(Relaxed) | RING_BUSY, Relaxed);
        // ORDERING: A nested writer runs on this CPU, between two instructions of this code, so it
        // is enough that the compiler keeps what follows after the store.
        compiler_fence(SeqCst);
        Some(Writing {
            ring: self,
            _not_send: PhantomData,
        })
    }

    /// Begins a record in a shared ring; `None` where another writer has begun one.
    ///
    /// # Safety
    ///
    /// All writers of the ring come through here.
    pub unsafe fn claim(&self) -> Option<Writing<'_>> {
        let word = self.busy.load(Relaxed);
        if word & RING_BUSY != 0 {
            return None;
        }
        let busy = word.wrapping_add(CLAIM) | RING_BUSY;
        // INVARIANT: Of the writers that find it idle, one stores this.
        // ORDERING: Acquire: the stores of the writer before are visible. It pairs with
        // `set_idle`.
        (self.busy.compare_exchange(word, busy, Acquire, Relaxed)).ok()?;
        Some(Writing {
            ring: self,
            _not_send: PhantomData,
        })
    }

    /// The ring can be written to: its writer has ended the record, or it has a new owner.
    #[inline(always)]
    pub(super) fn set_idle(&self) {
        let busy = &self.busy;
        // ORDERING: Release keeps the stores of the record before this one, for nested writers on
        // this CPU, and for the next writer of a shared ring: it pairs with `claim`. Relaxed:
        // nobody else stores to it meanwhile. Together they are one instruction.
        busy.store(busy.load(Relaxed) & !RING_BUSY, Release);
    }
}
