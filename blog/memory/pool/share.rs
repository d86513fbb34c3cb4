// SPDX-License-Identifier: GPL-2.0

//! Fair shares: who holds more than its part of the budget gives up its oldest page for others.
//!
//! Needs nothing but `core` and `ring.rs`, and compiles on the host unchanged. Any context, NMI
//! included.
//!
//! A ring's share is the budget divided by the rings that there are. A ring is *poor* if it would
//! not have more than that with one more page, *rich* if it holds more. As the budget is all that
//! rings can hold, there are rich ones whenever a poor one gets nothing elsewhere. They are looked
//! for from where the last one was found: a rich ring is asked until it is none any more.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};
use kernel::blog::ring::Pages;

use super::Store;

/// How many rings are looked at for one page: time in an NMI is bounded.
const SCAN: u32 = 128;

/// What a component's rings share.
pub(crate) struct Shares {
    /// All pages, in bytes.
    bytes: AtomicU32,
    /// Rings that hold pages and are not counted as live ones of tasks.
    others: AtomicU32,
    /// The ring to look at first.
    cursor: AtomicU32,
}

impl Shares {
    /// Shares of nothing.
    pub(super) const fn new() -> Self {
        Self {
            bytes: AtomicU32::new(0),
            others: AtomicU32::new(0),
            cursor: AtomicU32::new(0),
        }
    }

    /// Sets what is shared.
    pub(super) fn set_bytes(&self, bytes: u32) {
        self.bytes.store(bytes, Relaxed);
    }

    /// What is shared.
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes.load(Relaxed)
    }

    /// Sets how many rings take part that are not in the pool.
    pub(crate) fn set_others(&self, rings: u32) {
        self.others.store(rings, Relaxed);
    }

    /// Has this ring looked at first: somebody has found that it holds the most.
    pub(crate) fn point_at(&self, ring: u32) {
        self.cursor.store(ring, Relaxed);
    }

    /// A ring's share in bytes, with `live` rings of tasks.
    pub(crate) fn fair(&self, live: u32) -> u32 {
        let rings = live.saturating_add(self.others.load(Relaxed)).max(1);
        self.bytes.load(Relaxed) / rings
    }

    /// Whether a ring that holds this many bytes would not have more than its share with another
    /// page.
    pub(super) fn is_poor(&self, store: &impl Store, live: u32, held: u32) -> bool {
        held.saturating_add(store.sizes().page) <= self.fair(live)
    }

    /// Takes the oldest page of a ring that holds more than its share, for one that holds `held`
    /// bytes and asks for a page (else a chunk, for its first).
    pub(super) fn steal(
        &self,
        store: &impl Store,
        pages: &impl Pages,
        live: u32,
        held: u32,
        page: bool,
    ) -> Option<u32> {
        if held != 0 && (!page || !self.is_poor(store, live, held)) {
            return None;
        }
        let fair = self.fair(live);
        let rings = store.rings();
        let start = self.cursor.load(Relaxed);
        for n in 0..SCAN.min(rings) {
            let id = start.wrapping_add(n) % rings;
            let rich = store.ring(id).filter(|ring| ring.held() > fair);
            // SAFETY: All rings of the store have their pages from its pool.
            if let Some(index) = rich.and_then(|ring| unsafe { ring.steal(pages) }) {
                self.cursor.store(id, Relaxed);
                return Some(index);
            }
        }
        self.cursor.store(start.wrapping_add(SCAN), Relaxed);
        None
    }
}
