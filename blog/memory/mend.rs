// SPDX-License-Identifier: GPL-2.0

//! Shared rings whose writers have died.

use super::{
    pool::Store,
    Memory, //
};
use crate::sys::prelude::*;
use kernel::blog::ring::Ring;

impl Memory {
    /// Looks after it, about once a second: puts where it is found what log calls could put
    /// nowhere. True: one may have died while it wrote to a shared ring, so [`Self::mend`] is to be
    /// called. Process context, one at a time.
    pub(crate) fn tend(&self) -> bool {
        self.pool.collect();
        (0..).zip(self.shared).fold(false, |any, (id, shared)| {
            let writer = self.pool.store.ring(id).and_then(Ring::claimant);
            let before = shared.seen.swap(writer.unwrap_or(0), Relaxed);
            any || writer == Some(before)
        })
    }

    /// Lets those shared rings go that still have the same writer.
    ///
    /// # Safety
    ///
    /// No log call runs any more that ran at the last [`Self::tend`].
    pub(crate) unsafe fn mend(&self) {
        for (id, shared) in (0..).zip(self.shared) {
            let seen = shared.seen.load(Relaxed);
            // SAFETY: By this function's requirement.
            let mend = |ring: &Ring| unsafe { ring.mend(seen) };
            if seen != 0 && self.pool.store.ring(id).is_some_and(mend) {
                self.mended.fetch_add(1, Relaxed);
            }
        }
    }

    /// How many have died while they wrote to a shared ring.
    pub(crate) fn mended(&self) -> u64 {
        self.mended.load(Relaxed)
    }
}
