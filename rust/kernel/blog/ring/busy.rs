// SPDX-License-Identifier: GPL-2.0

//! The right to write into a ring: at any instant, at most one writer has it.

use super::{
    super::wire::dump::RING_BUSY,
    peek::Peek,
    Ring, //
};
use core::sync::atomic::{
    compiler_fence,
    Ordering::*, //
};

/// One claim, in the bits between the slot and [`RING_BUSY`].
const CLAIM: u32 = 1 << 16;

impl Ring {
    /// Marks the ring as busy; false where it is already, as a record is being written into it, or
    /// where it is of another component than the one whose slot `slot` says.
    ///
    /// The slot stays, so that nobody has to keep it for [`Self::end`], in a register. It need not
    /// be one atomic step: who comes between a load and a store has gone again when the store
    /// happens.
    ///
    /// # Safety
    ///
    /// The ring isn't shared, and the caller runs in its context; or it is busy for good.
    #[inline(always)]
    pub(super) unsafe fn begin_for(&self, slot: impl FnOnce() -> u32) -> bool {
        let busy = &self.busy;
        // SAFETY: By this function's requirement.
        let word = unsafe { busy.peek() };
        // In this order, the other one is an operand of the comparison.
        if word != slot() {
            return false;
        }
        // INVARIANT: No record has begun, and who might begin one meanwhile interrupts this code,
        // and has ended it when this goes on.
        busy.store(busy.load(Relaxed) | RING_BUSY, Relaxed);
        // ORDERING: A nested writer runs on this CPU, between two instructions of this code, so it
        // is enough that the compiler keeps what follows after the store.
        compiler_fence(SeqCst);
        true
    }

    /// Marks the ring as busy; false where it is already.
    ///
    /// # Safety
    ///
    /// The ring isn't shared, and the caller runs in its context.
    #[inline(always)]
    pub unsafe fn begin(&self) -> bool {
        // SAFETY: By this function's requirement.
        unsafe { self.begin_for(|| self.slot()) }
    }

    /// Marks a shared ring as busy for the caller; false where it is already.
    pub fn claim(&self) -> bool {
        let word = self.busy.load(Relaxed);
        if word & RING_BUSY != 0 {
            return false;
        }
        let busy = word.wrapping_add(CLAIM) | RING_BUSY;
        // ORDERING: Acquire: the stores of the writer before are visible. It pairs with `end`.
        (self.busy.compare_exchange(word, busy, Acquire, Relaxed)).is_ok()
    }

    /// A number that the writer of a shared ring has, and not the next ones; `None`: there is none.
    pub fn claimant(&self) -> Option<u32> {
        let word = self.busy.load(Relaxed);
        (word & RING_BUSY != 0).then_some(word)
    }

    /// Ends the claim of this writer of a shared ring, which has died: others may write again. Its
    /// record isn't published; if it was just turning the page, the new page may be lost. False: it
    /// has ended it itself.
    ///
    /// # Safety
    ///
    /// No log call runs any more that ran when [`Self::claimant`] said this.
    pub unsafe fn mend(&self, claimant: u32) -> bool {
        // ORDERING: Release: the caller has waited until the dead one's stores were visible to it;
        // so they are to the next writer.
        self.busy
            .compare_exchange(claimant, claimant & !RING_BUSY, Release, Relaxed)
            .is_ok()
    }

    /// Ends what [`Self::begin`] or [`Self::claim`] began.
    ///
    /// # Safety
    ///
    /// It returned true, for the caller, who does not write into the ring any more; or the ring has
    /// no writer, and is the caller's.
    #[inline(always)]
    pub unsafe fn end(&self) {
        let busy = &self.busy;
        // ORDERING: Release keeps the stores of the record before this one, for nested writers on
        // this CPU, and for the next writer of a shared ring: it pairs with `claim`. Relaxed:
        // nobody else stores to it meanwhile. Together they are one instruction.
        busy.store(busy.load(Relaxed) & !RING_BUSY, Release);
    }
}
