// SPDX-License-Identifier: GPL-2.0

//! Which shelves have something.
//!
//! A word that all CPUs look at when their own shelf is empty, so it changes only when it is wrong:
//! a bit is set with the first thing that comes, and cleared by a call that came in vain. Both do
//! so while they hold the shelf.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::Relaxed, //
};

use super::{
    claim::Claimed,
    list::List,
    LOOKS, //
};

/// Most shelves: bits of a [`Hint`].
pub(crate) const MOST: usize = 64;

/// How many indices more are taken from another shelf than are needed.
const BURST: u32 = 7;

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

    /// Takes an index off another shelf than the own one, and a few more for that, while `came` is
    /// told of it. `shelf` finds a shelf, `list` its list, and `next` an index's link. A shelf
    /// keeps the last `kept` indices, and if it gives more than one, the last `reserve`.
    pub(crate) fn take<'a, T: 'a>(
        &self,
        own: usize,
        shelf: impl Fn(usize) -> &'a Claimed<T>,
        list: impl Fn(&T) -> &List,
        next: impl Fn(u32) -> Option<&'a AtomicU32> + Copy,
        came: impl Fn(&T),
        (kept, reserve): (u32, u32),
    ) -> Option<u32> {
        self.others(own).find_map(|n| {
            let held = shelf(n).claim()?;
            let other = list(&held);
            let len = other.len();
            let index = (len > kept).then(|| other.pop(next)).flatten();
            let Some(index) = index else {
                self.clear(n);
                return None;
            };
            let more = (len.saturating_sub(reserve) / 2).min(BURST);
            let mine = (more != 0).then(|| shelf(own).claim()).flatten();
            if let Some(mine) = mine {
                for index in (0..more).map_while(|_| other.pop(next)) {
                    list(&mine).push(next, index);
                }
                came(&mine);
            }
            Some(index)
        })
    }
}
