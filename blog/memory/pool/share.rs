// SPDX-License-Identifier: GPL-2.0

//! Fair shares: who holds more than its part of the budget gives up its oldest page for others.
//!
//! Needs nothing but `core` and `ring.rs`, and compiles on the host unchanged. Any context, NMI
//! included.
//!
//! A ring's share is the budget, less the reserve, divided by the rings that there are. A ring is
//! *poor* if it would not have more than that with one more page, *rich* if it holds more. As the
//! budget is all that rings can hold, there are rich ones whenever a poor one gets nothing
//! elsewhere. They are looked for from where the last one was found: a rich ring is asked until it
//! is none any more.
//!
//! How many rings there are is the sum of all shelves. So that not each page turn has to look at
//! all of them, it is what it was when somebody last did, or when nobody seemed rich.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};
use kernel::blog::ring::{
    Pages,
    Ring, //
};

use super::Store;

/// How many rings are looked at for one page: time in an NMI is bounded.
const SCAN: u32 = 128;

/// What a component's rings share.
pub(crate) struct Shares {
    /// All pages, in bytes.
    bytes: AtomicU32,
    /// Those of which no ring gets more than its first, in bytes.
    reserve: AtomicU32,
    /// Rings that hold pages and are not counted as live ones of tasks.
    others: AtomicU32,
    /// A ring's share in bytes; a while old.
    fair: AtomicU32,
    /// The ring that holds the most, as far as is known.
    richest: AtomicU32,
}

impl Shares {
    /// Shares of nothing.
    pub(super) const fn new() -> Self {
        Self {
            bytes: AtomicU32::new(0),
            reserve: AtomicU32::new(0),
            others: AtomicU32::new(0),
            fair: AtomicU32::new(0),
            richest: AtomicU32::new(0),
        }
    }

    /// Sets what is shared.
    pub(super) fn set_bytes(&self, bytes: u32) {
        self.bytes.store(bytes, Relaxed);
    }

    /// Takes something out of what is shared.
    pub(super) fn sub_bytes(&self, bytes: u32) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Sets what of that is for rings that hold nothing.
    pub(super) fn set_reserve(&self, bytes: u32) {
        self.reserve.store(bytes, Relaxed);
    }

    /// What is shared.
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes.load(Relaxed)
    }

    /// Sets how many rings take part that are not in the pool.
    pub(crate) fn set_others(&self, rings: u32) {
        self.others.store(rings, Relaxed);
    }

    /// Has this ring looked at, too, if it holds more than the one that is known for that.
    pub(crate) fn point_at(&self, store: &impl Store, ring: &Ring) {
        let known = store.ring(self.richest.load(Relaxed));
        if known.is_none_or(|known| known.held() < ring.held()) {
            self.richest.store(ring.id(), Relaxed);
        }
    }

    /// A ring's share in bytes, now.
    pub(super) fn fair(&self, store: &impl Store) -> u32 {
        let live = store.shelves().iter().map(|shelf| shelf.live.load(Relaxed));
        let live = live.fold(0, u32::wrapping_add);
        // A task that ends may be counted on one shelf before it is on another one that it began.
        let rings = (live as i32).max(0) as u32;
        let bytes = self.bytes().saturating_sub(self.reserve.load(Relaxed));
        bytes / rings.saturating_add(self.others.load(Relaxed)).max(1)
    }

    /// Takes down what a ring's share is. True: it has changed.
    pub(super) fn refresh(&self, store: &impl Store) -> bool {
        let fair = self.fair(store);
        let changed = fair != self.fair.load(Relaxed);
        if changed {
            self.fair.store(fair, Relaxed);
        }
        changed
    }

    /// Takes the oldest page of a ring that holds more than its share, for one that holds `held`
    /// bytes and asks for a page (else a chunk, for its first). `cursor`: where to look first.
    pub(super) fn steal(
        &self,
        store: &impl Store,
        pages: &impl Pages,
        cursor: &AtomicU32,
        held: u32,
        page: bool,
    ) -> Option<u32> {
        for _ in 0..2 {
            let fair = self.fair.load(Relaxed);
            let is_poor = held.saturating_add(store.sizes().page) <= fair;
            if held != 0 && (!page || !is_poor) {
                return None;
            }
            let rings = store.rings();
            let start = cursor.load(Relaxed);
            let near = (0..SCAN.min(rings)).map(|n| start.wrapping_add(n) % rings.max(1));
            for id in near.chain([self.richest.load(Relaxed)]) {
                let rich = store.ring(id).filter(|ring| ring.held() > fair);
                // SAFETY: All rings of the store have their pages from its pool.
                if let Some(index) = rich.and_then(|ring| unsafe { ring.steal(pages) }) {
                    if id != start {
                        cursor.store(id, Relaxed);
                    }
                    return Some(index);
                }
            }
            cursor.store(start.wrapping_add(SCAN), Relaxed);
            if !self.refresh(store) {
                break;
            }
        }
        None
    }
}
