// SPDX-License-Identifier: GPL-2.0

//! The depot: a component's free pages, in batches.
//!
//! Magazines (`magazine.rs`) are filled from it and flushed into it, a batch by one operation.
//! Needs nothing but `core`, and compiles on the host unchanged. Any context, NMI included: whoever
//! is interrupted in the middle holds one batch at most, and goes on with it.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};

use super::{
    stack::Stack,
    Store,
    NONE, //
};

/// Pages in somebody's hand, linked by their slots.
///
/// # Invariants
///
/// The `len` pages from `first` along their links are this batch's alone.
pub(crate) struct Batch {
    first: u32,
    len: u32,
}

impl Batch {
    /// No pages.
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        len: 0,
    };

    /// The pages from `first` on, which are the caller's.
    fn of(store: &impl Store, first: u32) -> Self {
        let (mut len, mut at) = (0, first);
        while let Some(slot) = store.slot(at) {
            len += 1;
            at = slot.link.load(Relaxed);
        }
        Self { first, len }
    }

    /// Number of pages.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Adds a page, which is the caller's.
    pub(crate) fn push(&mut self, store: &impl Store, page: u32) {
        if let Some(slot) = store.slot(page) {
            // ORDERING: Relaxed: `Depot::give` publishes it.
            slot.link.store(self.first, Relaxed);
            self.first = page;
            self.len += 1;
        }
    }

    /// Takes a page out.
    pub(crate) fn pop(&mut self, store: &impl Store) -> Option<u32> {
        let page = self.first;
        self.first = store.slot(page)?.link.load(Relaxed);
        self.len -= 1;
        Some(page)
    }
}

/// Free pages.
///
/// # Invariants
///
/// A page is in at most one batch, and a batch at most once in `batches`.
pub(super) struct Depot {
    batches: Stack,
    pages: AtomicU32,
}

impl Depot {
    /// Makes an empty depot.
    pub(crate) const fn new() -> Self {
        Self {
            batches: Stack::new(),
            pages: AtomicU32::new(0),
        }
    }

    /// Number of pages; a moment old.
    pub(crate) fn pages(&self) -> u32 {
        self.pages.load(Relaxed)
    }

    /// Puts a batch in.
    pub(crate) fn give(&self, store: &impl Store, batch: Batch) {
        if batch.len == 0 {
            return;
        }
        // Counted before it can be taken, so that the count never falls below zero.
        self.pages.fetch_add(batch.len, Relaxed);
        self.batches
            .push(|page| Some(&store.slot(page)?.batch), batch.first);
    }

    /// Takes a batch, the one that was put in last.
    pub(crate) fn take(&self, store: &impl Store) -> Option<Batch> {
        let first = self.batches.pop(|page| Some(&store.slot(page)?.batch))?;
        // ORDERING: The pop has acquired what `give` released: the links are there.
        let batch = Batch::of(store, first);
        self.pages.fetch_sub(batch.len, Relaxed);
        Some(batch)
    }
}
