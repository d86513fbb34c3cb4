// SPDX-License-Identifier: GPL-2.0

//! Rings whose task has ended, oldest first.
//!
//! Needs nothing but `core`, and compiles on the host unchanged. Any context, NMI included.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::Relaxed, //
};

use super::{
    queue::{
        Cell,
        Queue, //
    },
    stack::Stack,
    Store, //
};

/// Retired rings of a shelf.
///
/// # Invariants
///
/// A retired ring is in exactly one of all shelves' `begun`, `queue` and `late`, or somebody holds
/// its id.
pub(super) struct Retired {
    queue: Queue,
    /// Those of which pages have been taken already: older than those in `queue`.
    begun: Stack,
    /// Those for which no queue had room: newer than those in it.
    late: Stack,
    /// How many these are.
    len: AtomicU32,
    /// When the first of these ended, or one before it, and the last one.
    oldest: AtomicU64,
    newest: AtomicU64,
}

impl Retired {
    /// None.
    pub(super) const fn new() -> Self {
        Self {
            queue: Queue::new(),
            begun: Stack::new(),
            late: Stack::new(),
            len: AtomicU32::new(0),
            oldest: AtomicU64::new(0),
            newest: AtomicU64::new(0),
        }
    }

    /// How many these are; a moment old, and for a moment too high.
    pub(super) fn len(&self) -> u32 {
        self.len.load(Relaxed)
    }

    /// From when to when they are, about; `None`: there are none.
    pub(super) fn span(&self) -> Option<(u64, u64)> {
        let span = || (self.oldest.load(Relaxed), self.newest.load(Relaxed));
        (self.len() != 0).then(span)
    }

    /// Takes down that none is older.
    pub(super) fn set_oldest(&self, ended: u64) {
        self.oldest.store(ended, Relaxed);
    }

    /// Counts a ring, before it can be taken, so that the count never falls below zero.
    fn count(&self, ended: u64) {
        if self.len.fetch_add(1, Relaxed) == 0 {
            self.set_oldest(ended);
        }
    }

    /// Puts a ring behind the others. False: there is no room for it, or a pop is stuck in its
    /// middle.
    pub(super) fn push(&self, cells: &[Cell], id: u32, ended: u64) -> bool {
        self.count(ended);
        self.newest.store(ended, Relaxed);
        let pushed = self.queue.push(cells, id);
        if !pushed {
            self.len.fetch_sub(1, Relaxed);
        }
        pushed
    }

    /// Puts a ring behind the others, as one for which there was no room.
    pub(super) fn push_late(&self, store: &impl Store, id: u32, ended: u64) {
        self.count(ended);
        self.late.push(|i| store.ring_link(i), id);
    }

    /// Puts a ring in front of the others.
    pub(super) fn put_back(&self, store: &impl Store, id: u32, ended: u64) {
        self.count(ended);
        self.begun.push(|i| store.ring_link(i), id);
    }

    /// Takes the oldest ring, as far as that can be had without waiting.
    pub(super) fn take(&self, store: &impl Store, cells: &[Cell]) -> Option<u32> {
        let link = |i| store.ring_link(i);
        let id = (self.begun.pop(link))
            .or_else(|| self.queue.pop(cells))
            .or_else(|| self.late.pop(link))?;
        self.len.fetch_sub(1, Relaxed);
        Some(id)
    }
}
