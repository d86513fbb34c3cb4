// SPDX-License-Identifier: GPL-2.0

//! The slab: pages that are split into chunks, so that a ring of a few records needs no page.
//!
//! A split page belongs to one shelf, [`Slot::shelf`]; who has claimed that is alone with
//! [`Slot::chunks`], the bits of its free chunks. A page with free chunks is in the shelf's list.
//! When all of its chunks are free, it is taken out, whole again, and belongs to no shelf.

use core::sync::atomic::{
    AtomicU32,
    Ordering::{
        Relaxed,
        Release, //
    }, //
};

use super::{
    slot::{
        Index,
        Slot, //
    },
    Store,
    NONE, //
};

/// Pages of a shelf that have free chunks. Only who has claimed the shelf calls this.
///
/// Should that one die halfway, then as with a [`List`](super::list::List) something is lost, but
/// nothing is there twice: a page that [`Self::remove`] can't find in the list is never whole.
///
/// # Invariants
///
/// - `first`, its [`Slot::link`], and so on up to [`NONE`] are in the list: pages of the shelf that
///   have bits in [`Slot::chunks`].
/// - [`Slot::back`] of each is the one before it, [`NONE`] for the first and for those that are in
///   no such list.
pub(super) struct Slab {
    first: AtomicU32,
}

impl Slab {
    /// Makes an empty slab.
    pub(super) const fn new() -> Self {
        Self {
            first: AtomicU32::new(NONE),
        }
    }

    /// Whether there is a free chunk; anybody may look.
    pub(super) fn has(&self) -> bool {
        self.first.load(Relaxed) != NONE
    }

    fn add(&self, store: &impl Store, page: u32, slot: &Slot) {
        let first = self.first.load(Relaxed);
        slot.link.store(first, Relaxed);
        slot.back.store(NONE, Relaxed);
        // ORDERING: Release, here and below: one after the other, should the holder die halfway.
        self.first.store(page, Release);
        if let Some(first) = store.slot(first) {
            first.back.store(page, Release);
        }
    }

    /// Takes a page out of the list. False: it isn't there.
    fn remove(&self, store: &impl Store, page: u32, slot: &Slot) -> bool {
        let next = slot.link.load(Relaxed);
        let before = slot.back.load(Relaxed);
        let (before, link) = match store.slot(before) {
            _ if self.first.load(Relaxed) == page => (NONE, &self.first),
            Some(slot) => (before, &slot.link),
            None => return false,
        };
        if link.load(Relaxed) != page {
            return false;
        }
        if let Some(next) = store.slot(next) {
            next.back.store(before, Relaxed);
        }
        // ORDERING: See `add`.
        link.store(next, Release);
        slot.back.store(NONE, Release);
        true
    }

    /// Takes a free chunk.
    pub(super) fn take(&self, store: &impl Store) -> Option<Index> {
        let page = self.first.load(Relaxed);
        let slot = store.slot(page)?;
        let chunks = slot.chunks.load(Relaxed);
        let left = chunks & chunks.wrapping_sub(1);
        slot.chunks.store(left, Relaxed);
        if left == 0 {
            self.remove(store, page, slot);
        }
        (chunks != 0).then(|| Index::chunk(page, chunks.trailing_zeros()))
    }

    /// Adds free chunks of a page, which are the caller's. True: the page is whole, and the
    /// caller's.
    pub(super) fn put(&self, store: &impl Store, page: u32, slot: &Slot, chunks: u32) -> bool {
        let before = slot.chunks.load(Relaxed);
        let now = before | chunks;
        let all = (1 << store.sizes().chunks()) - 1;
        if now == all && (before == 0 || self.remove(store, page, slot)) {
            slot.chunks.store(0, Relaxed);
            return true;
        }
        slot.chunks.store(now, Relaxed);
        if before == 0 {
            self.add(store, page, slot);
        }
        false
    }
}
