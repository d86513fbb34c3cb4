// SPDX-License-Identifier: GPL-2.0

//! Fair shares: a ring that holds more than its part of the budget gives up its oldest page for
//! others.
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

use super::{
    Pool,
    Store, //
};

/// How many rings are looked at in one go.
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
}

/// How many rings a call may still look at, for one that is rich.
pub(super) struct Looks(u32);

impl Looks {
    /// Enough for two goes: time in an NMI is bounded.
    pub(super) const fn new() -> Self {
        Self(2 * (SCAN + 1))
    }

    fn look(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

impl<S: Store> Pool<S> {
    /// Has this ring looked at, too, if it holds more than the one that is known for that.
    pub(crate) fn point_at(&self, ring: &Ring) {
        let richest = &self.shares.richest;
        let known = self.store.ring(richest.load(Relaxed));
        if known.is_none_or(|known| known.held() < ring.held()) {
            richest.store(ring.id(), Relaxed);
        }
    }

    /// A ring's fair share in bytes, now.
    pub(crate) fn fair(&self) -> u32 {
        let shelves = self.store.shelves().iter();
        let live = shelves.map(|shelf| shelf.lists.look().live.load(Relaxed));
        let live = live.fold(0, u32::wrapping_add);
        // A task that ends may be counted on one shelf before it is on another one that it began.
        let rings = (live as i32).max(0) as u32;
        let shares = &self.shares;
        let bytes = shares.bytes().saturating_sub(shares.reserve.load(Relaxed));
        bytes / rings.saturating_add(shares.others.load(Relaxed)).max(1)
    }

    /// Takes down what a ring's share is. True: it has changed.
    pub(super) fn refresh_fair(&self) -> bool {
        let fair = self.fair();
        let changed = fair != self.shares.fair.load(Relaxed);
        if changed {
            self.shares.fair.store(fair, Relaxed);
        }
        changed
    }

    /// Takes the oldest page of a ring that holds more than its share, for one that holds `held`
    /// bytes and asks for a page (else a chunk, for its first). `cursor`: where to look first.
    pub(super) fn steal(
        &self,
        pages: &impl Pages,
        cursor: &AtomicU32,
        held: u32,
        page: bool,
        looks: &mut Looks,
    ) -> Option<u32> {
        loop {
            let fair = self.shares.fair.load(Relaxed);
            let is_poor = held.saturating_add(self.store.sizes().page) <= fair;
            if held != 0 && (!page || !is_poor) {
                return None;
            }
            let rings = self.store.rings();
            let start = cursor.load(Relaxed);
            let near = (0..SCAN.min(rings)).map(|n| start.wrapping_add(n) % rings.max(1));
            for id in near.chain([self.shares.richest.load(Relaxed)]) {
                looks.look()?;
                let rich = self.store.ring(id).filter(|ring| ring.held() > fair);
                // SAFETY: All rings of the store have their pages from its pool.
                if let Some(index) = rich.and_then(|ring| unsafe { ring.steal(pages) }) {
                    if id != start {
                        cursor.store(id, Relaxed);
                    }
                    return Some(index);
                }
            }
            cursor.store(start.wrapping_add(SCAN), Relaxed);
            if !self.refresh_fair() {
                return None;
            }
        }
    }
}
