// SPDX-License-Identifier: GPL-2.0

//! A right that one user has at a time, and nobody waits for.

use core::{
    ops::Deref,
    sync::atomic::{
        AtomicU32,
        Ordering::*, //
    }, //
};

/// Something that is used by one at a time: a lock that can only be tried.
///
/// A caller that doesn't get it goes elsewhere. So it doesn't matter that the holder may be
/// interrupted, by the very caller even, or preempted for long. What is inside is made of atomics,
/// which only the holder stores to; anybody may look at them. It has cache lines of its own.
///
/// # Invariants
///
/// `held` is 1 while there is a [`Held`], of which there is one at most; else 0.
#[repr(align(64))]
pub(crate) struct Claimed<T> {
    held: AtomicU32,
    inside: T,
}

impl<T> Claimed<T> {
    pub(crate) const fn new(inside: T) -> Self {
        Self {
            held: AtomicU32::new(0),
            inside,
        }
    }

    /// Claims it, unless somebody else has.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Held<'_, T>> {
        if self.held.load(Relaxed) != 0 {
            return None;
        }
        // INVARIANT: Nobody has claimed it, or the exchange fails.
        // ORDERING: Acquire pairs with the release in `Held::drop`: all that holders before have
        // done is visible.
        self.held.compare_exchange(0, 1, Acquire, Relaxed).ok()?;
        Some(Held { of: self })
    }

    /// What is inside, for a look that need not be right.
    pub(crate) fn look(&self) -> &T {
        &self.inside
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
        // ORDERING: Release: see `claim`.
        self.of.held.store(0, Release);
    }
}
