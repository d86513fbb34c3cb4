// SPDX-License-Identifier: GPL-2.0

//! Which epoch of the clock a ring goes by.

use super::super::wire::record::TS_BITS;
use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};

/// What is added to the clock that the fast path reads: so many turns of the bits that a record's
/// header holds.
///
/// # Invariants
///
/// It is stored by the ring's writer while that is busy.
#[repr(transparent)]
pub(super) struct Epoch(AtomicU32);

impl Epoch {
    /// The first one: nothing is added.
    pub(super) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// What is added.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        u64::from(self.0.load(Relaxed)) << TS_BITS
    }

    /// From here on, `offset` is.
    #[inline]
    pub(super) fn set(&self, offset: u64) {
        self.0.store((offset >> TS_BITS) as u32, Relaxed);
    }

    /// What the fast path would have read at this time.
    #[inline]
    pub(super) fn raw(&self, ts: u64) -> u64 {
        ts.wrapping_sub(self.offset())
    }
}
