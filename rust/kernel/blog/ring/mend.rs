// SPDX-License-Identifier: GPL-2.0

//! Writers of shared rings that have died in the middle of a record.

use super::{
    super::wire::page::RING_BUSY,
    Ring, //
};
use core::sync::atomic::Ordering::*;

impl Ring {
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
}
