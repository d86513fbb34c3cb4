// SPDX-License-Identifier: GPL-2.0

//! Which shelves have something.
//!
//! A word that all CPUs look at when their own shelf is empty, so it changes only when it is wrong:
//! a bit is set with the first thing that comes, and cleared by who came in vain. Needs nothing but
//! `core`, and compiles on the host unchanged. Any context, NMI included.

use core::sync::atomic::{
    fence,
    AtomicU32,
    AtomicU64,
    Ordering::{
        Relaxed,
        SeqCst, //
    }, //
};

use super::{
    stack::List,
    BURST, //
};

/// Most shelves: bits of a [`Hint`].
pub(crate) const MOST: usize = 64;

/// A bit for each shelf, set where there may be something.
///
/// # Invariants
///
/// A clear bit belongs to a shelf that has nothing, or to which somebody has just brought
/// something, or from which somebody is just looking away.
pub(crate) struct Hint(AtomicU64);

impl Hint {
    /// No shelf has anything.
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Says that shelf `n` has something now. The caller has brought it.
    pub(crate) fn set(&self, n: usize) {
        // ORDERING: Pairs with the fence in `clear`: who brings something sees the bit cleared, or
        // who has cleared it sees what came.
        fence(SeqCst);
        let bit = 1 << n;
        if self.0.load(Relaxed) & bit == 0 {
            self.0.fetch_or(bit, Relaxed);
        }
    }

    /// Says that shelf `n` has nothing, unless there `is` something after all.
    pub(crate) fn clear(&self, n: usize, is: impl FnOnce() -> bool) {
        let bit = 1 << n;
        self.0.fetch_and(!bit, Relaxed);
        // ORDERING: See `set`.
        fence(SeqCst);
        if is() {
            self.0.fetch_or(bit, Relaxed);
        }
    }

    /// Whether no shelf has anything.
    pub(crate) fn is_clear(&self) -> bool {
        self.0.load(Relaxed) == 0
    }

    /// Takes an index off the own shelf's list, or another one's, and from there a few more for the
    /// own one. `list` finds the list of a shelf, `next` an index's link.
    pub(crate) fn take<'a>(
        &self,
        own: usize,
        list: impl Fn(usize) -> &'a List,
        next: impl Fn(u32) -> Option<&'a AtomicU32> + Copy,
    ) -> Option<u32> {
        list(own).pop(next).or_else(|| {
            self.others(own).find_map(|n| {
                let other = list(n);
                let more = (other.len() / 2).min(BURST);
                let index = other.share(next, list(own), more);
                match index {
                    None => self.clear(n, || other.len() != 0),
                    Some(_) => self.set(own),
                }
                index
            })
        })
    }

    /// The shelves that may have something, from the one behind `own` on, and without that.
    pub(crate) fn others(&self, own: usize) -> impl Iterator<Item = usize> {
        let first = (own + 1) % MOST;
        let mut bits = (self.0.load(Relaxed) & !(1 << own)).rotate_right(first as u32);
        core::iter::from_fn(move || {
            let next = bits.trailing_zeros() as usize;
            // The lowest bit is no more.
            bits &= bits.wrapping_sub(1);
            (next < MOST).then_some((first + next) % MOST)
        })
    }
}
