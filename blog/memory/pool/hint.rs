// SPDX-License-Identifier: GPL-2.0

//! Which shelves have something.
//!
//! A word that all CPUs look at when their own shelf is empty, so it changes only when it is wrong:
//! a bit is set with the first thing that comes, and cleared by a call that came in vain. Both do
//! so while they hold the shelf.

use core::sync::atomic::{
    AtomicU64,
    Ordering::Relaxed, //
};

use super::LOOKS;

/// Most shelves: bits of a [`Hint`].
pub(crate) const MOST: usize = 64;

/// A bit for each shelf, set where there may be something.
///
/// # Invariants
///
/// A shelf whose bit is clear has nothing, or is held by a call that brings something.
pub(crate) struct Hint(AtomicU64);

impl Hint {
    /// No shelf has anything.
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Says that shelf `n` has something. The caller holds it.
    pub(crate) fn set(&self, n: usize) {
        let bit = 1 << n;
        if self.0.load(Relaxed) & bit == 0 {
            self.0.fetch_or(bit, Relaxed);
        }
    }

    /// Says that shelf `n` has nothing. The caller holds it.
    pub(crate) fn clear(&self, n: usize) {
        self.0.fetch_and(!(1 << n), Relaxed);
    }

    /// Whether no shelf has anything.
    pub(crate) fn is_clear(&self) -> bool {
        self.0.load(Relaxed) == 0
    }

    /// A few shelves that may have something, from the one after `own` on, and without that.
    pub(crate) fn others(&self, own: usize) -> impl Iterator<Item = usize> {
        let first = (own + 1) % MOST;
        let mut bits = (self.0.load(Relaxed) & !(1 << own)).rotate_right(first as u32);
        let others = core::iter::from_fn(move || {
            let next = bits.trailing_zeros() as usize;
            // The lowest bit is no more.
            bits &= bits.wrapping_sub(1);
            (next < MOST).then_some((first + next) % MOST)
        });
        others.take(LOOKS)
    }
}
