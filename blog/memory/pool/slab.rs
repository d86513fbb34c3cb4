// SPDX-License-Identifier: GPL-2.0

//! The slab: pages that are split into chunks, so that a ring of a few records needs no page.
//!
//! A split page belongs to one shelf, [`Slot::shelf`]. Only the holder of its claim uses
//! [`Slot::chunks`], the bits of its free chunks. A page with free chunks is in the shelf's list.
//! When all of its chunks are free, it leaves the list, is whole again, and belongs to no shelf.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};

use super::{
    slot::{
        Index,
        Slot, //
    },
    Store,
    NONE, //
};

/// Pages of a shelf that have free chunks. Only the holder of the shelf's claim calls this.
///
/// # Invariants
///
/// - `first`, its [`Slot::link`], and so on up to [`NONE`] are in the list: pages of the shelf that
///   have bits in [`Slot::chunks`].
/// - [`Slot::back`] of each is the one before it, [`NONE`] for the first.
pub(super) struct Slab {
    first: AtomicU32,
}

impl Slab {
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
        self.first.store(page, Relaxed);
        if let Some(first) = store.slot(first) {
            first.back.store(page, Relaxed);
        }
    }

    fn remove(&self, store: &impl Store, slot: &Slot) {
        let (next, before) = (slot.link.load(Relaxed), slot.back.load(Relaxed));
        let link = store.slot(before).map_or(&self.first, |slot| &slot.link);
        link.store(next, Relaxed);
        if let Some(next) = store.slot(next) {
            next.back.store(before, Relaxed);
        }
    }

    /// Takes a free chunk.
    pub(super) fn take(&self, store: &impl Store) -> Option<Index> {
        let page = self.first.load(Relaxed);
        let slot = store.slot(page)?;
        let chunks = slot.chunks.load(Relaxed);
        let left = chunks & chunks.wrapping_sub(1);
        slot.chunks.store(left, Relaxed);
        if left == 0 {
            self.remove(store, slot);
        }
        Some(Index::chunk(page, chunks.trailing_zeros()))
    }

    /// Adds free chunks of a page, which are the caller's. True: the page is whole, and the
    /// caller's.
    pub(super) fn put(&self, store: &impl Store, page: u32, slot: &Slot, chunks: u32) -> bool {
        let before = slot.chunks.load(Relaxed);
        let now = before | chunks;
        let is_whole = now == (1 << store.sizes().chunks()) - 1;
        slot.chunks.store(if is_whole { 0 } else { now }, Relaxed);
        match before {
            0 if is_whole => (),
            0 => self.add(store, page, slot),
            _ if is_whole => self.remove(store, slot),
            _ => (),
        }
        is_whole
    }
}
