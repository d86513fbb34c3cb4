// SPDX-License-Identifier: GPL-2.0

//! Lists of indices: free pages, free rings, retired rings, free task tables.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};

use super::NONE;

/// A list of indices, each of which has a link. Only the holder of its shelf's claim changes it;
/// `next` finds the link of an index.
///
/// # Invariants
///
/// - `first`, its link, and so on up to [`NONE`] are in the list, and in no other one that uses the
///   same links.
/// - Unless there is none, the last of these is `last`.
pub(crate) struct List {
    first: AtomicU32,
    last: AtomicU32,
    len: AtomicU32,
}

impl List {
    pub(crate) const fn new() -> Self {
        Self {
            first: AtomicU32::new(NONE),
            last: AtomicU32::new(NONE),
            len: AtomicU32::new(0),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len.load(Relaxed)
    }

    pub(crate) fn first(&self) -> Option<u32> {
        let first = self.first.load(Relaxed);
        (first != NONE).then_some(first)
    }

    pub(crate) fn last(&self) -> Option<u32> {
        self.first().map(|_| self.last.load(Relaxed))
    }

    /// Adds an index as the first one. An index that has no link is dropped.
    pub(crate) fn push<'a>(&self, next: impl Fn(u32) -> Option<&'a AtomicU32>, index: u32) {
        let Some(link) = next(index) else {
            return;
        };
        let first = self.first.load(Relaxed);
        if first == NONE {
            self.last.store(index, Relaxed);
        }
        link.store(first, Relaxed);
        self.first.store(index, Relaxed);
        self.len.store(self.len().wrapping_add(1), Relaxed);
    }

    /// Adds an index as the last one. An index that has no link is dropped.
    pub(crate) fn push_last<'a>(&self, next: impl Fn(u32) -> Option<&'a AtomicU32>, index: u32) {
        let Some(link) = next(index) else {
            return;
        };
        link.store(NONE, Relaxed);
        let before = self.last().and_then(next).unwrap_or(&self.first);
        before.store(index, Relaxed);
        self.last.store(index, Relaxed);
        self.len.store(self.len().wrapping_add(1), Relaxed);
    }

    pub(crate) fn pop<'a>(&self, next: impl Fn(u32) -> Option<&'a AtomicU32>) -> Option<u32> {
        self.take(|index| Some((next(index)?, index)))
    }

    /// Takes out the first one: what `at` finds beside the link of its index.
    pub(crate) fn take<'a, T>(
        &self,
        at: impl FnOnce(u32) -> Option<(&'a AtomicU32, T)>,
    ) -> Option<T> {
        let (link, found) = at(self.first()?)?;
        self.first.store(link.load(Relaxed), Relaxed);
        self.len.store(self.len().wrapping_sub(1), Relaxed);
        Some(found)
    }
}
