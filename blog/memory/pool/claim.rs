// SPDX-License-Identifier: GPL-2.0

//! What one uses at a time, and nobody waits for.
//!
//! A task that dies (an oops) while it holds something never lets it go. Nobody waits for that
//! either, but what it holds is out of use until [`Watch`] has found out, for sure.

use core::{
    ops::Deref,
    sync::atomic::{
        AtomicU64,
        Ordering::{
            Acquire,
            Relaxed,
            Release, //
        }, //
    }, //
};

/// Something that is used by one at a time: a lock that can only be tried.
///
/// A caller that doesn't get it goes elsewhere. So it doesn't matter that the holder may be
/// interrupted, by the very caller even, or preempted for long. What is inside is made of atomics,
/// which only the holder stores to; anybody may look at them.
///
/// # Invariants
///
/// `word` is odd while there is a [`Held`], and grows by one with each claim and each end of one.
pub(crate) struct Claimed<T> {
    word: AtomicU64,
    inside: T,
}

impl<T> Claimed<T> {
    /// Something that nobody has claimed.
    pub(crate) const fn new(inside: T) -> Self {
        Self {
            word: AtomicU64::new(0),
            inside,
        }
    }

    /// Claims it, unless somebody else has.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Held<'_, T>> {
        let word = self.word.load(Relaxed);
        if word & 1 != 0 {
            return None;
        }
        // INVARIANT: Nobody has claimed it, or the exchange fails.
        // ORDERING: Acquire pairs with the release in `Held::drop`: all that holders before have
        // done is visible.
        self.word
            .compare_exchange(word, word.wrapping_add(1), Acquire, Relaxed)
            .ok()?;
        Some(Held { of: self })
    }

    /// What is inside, for a look that need not be right.
    pub(crate) fn look(&self) -> &T {
        &self.inside
    }

    /// A number that each holder has for itself, not 0; `None`: there is none.
    pub(crate) fn holder(&self) -> Option<u64> {
        let word = self.word.load(Relaxed);
        (word & 1 != 0).then_some(word)
    }

    /// Ends the claim of this holder, which has died. False: it has ended it itself.
    ///
    /// # Safety
    ///
    /// No call runs any more that ran when [`Self::holder`] said this.
    pub(crate) unsafe fn mend(&self, holder: u64) -> bool {
        // INVARIANT: By this function's requirement, if the word is still the same, its holder will
        // never end the claim.
        // ORDERING: Release: the caller has waited until the dead one's stores were visible to it;
        // so they are to the next holder.
        self.word
            .compare_exchange(holder, holder.wrapping_add(1), Release, Relaxed)
            .is_ok()
    }
}

/// Something that the caller has claimed, until this is dropped.
pub(crate) struct Held<'a, T> {
    of: &'a Claimed<T>,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.of.inside
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let word = self.of.word.load(Relaxed);
        // ORDERING: Release: see `claim`. Nobody else stores to an odd word.
        self.of.word.store(word.wrapping_add(1), Release);
    }
}

/// Finds the holders that have died. Process context, one at a time.
///
/// A holder that has been the same for a second is suspicious: [`Self::is_stuck`]. If it still is
/// the same after all calls have ended that ran by then, it is dead.
pub(crate) struct Watch(AtomicU64);

impl Watch {
    /// Nobody has been seen.
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Takes down who holds it. True: it is the same as when this was asked last.
    pub(crate) fn is_stuck(&self, holder: Option<u64>) -> bool {
        let before = self.0.swap(holder.unwrap_or(0), Relaxed);
        holder.is_some_and(|holder| holder == before)
    }

    /// Who held it when that was asked.
    pub(crate) fn seen(&self) -> Option<u64> {
        match self.0.load(Relaxed) {
            0 => None,
            holder => Some(holder),
        }
    }
}
