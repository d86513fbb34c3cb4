// SPDX-License-Identifier: GPL-2.0

//! The slab: pages that are split into chunks, so that a ring of a few records needs no page.
//!
//! Needs nothing but `core` and `ring.rs`, and compiles on the host unchanged. Any context, NMI
//! included.
//!
//! Each page has a word, [`Slot::chunks`], with a bit for each free chunk, and one more,
//! [`LISTED`]. A chunk belongs to whoever has cleared its bit. Pages with free chunks are found
//! through a stack. It is only a hint: a page on it may have no free chunk any more, or be whole
//! again.
//!
//! - Who sets a bit also sets `LISTED`. If it was clear before, the page is on no stack, and who
//!   has set it pushes the page. So a page with free chunks is on the stack, or on its way to it.
//! - Who pops a page without free chunks clears `LISTED`, by an exchange that fails if a chunk has
//!   come meanwhile; then the page goes back onto the stack.
//! - Who gives the last missing chunk back clears all bits in one exchange. If that succeeds, all
//!   chunks are its own, and it makes them a whole page.
//!
//! Each shelf has a slab. A page is on the stack of one of them, [`Slot::shelf`], which need not be
//! the one where it was split last: who splits it then goes on there.

use core::sync::atomic::{
    AtomicU32,
    Ordering::{
        AcqRel,
        Acquire,
        Relaxed,
        Release, //
    }, //
};

use super::{
    slot::{
        Index,
        Slot, //
    },
    stack::Stack,
    Store,
    NONE,
    TRIES, //
};

/// In [`Slot::chunks`]: the page is on the stack, or somebody holds it to put it there.
const LISTED: u32 = 1 << 16;
/// In [`Slot::chunks`]: free chunks.
const FREE: u32 = LISTED - 1;

/// Free chunks of a shelf.
pub(crate) struct Slab {
    /// Number of the shelf.
    number: u32,
    pages: Stack,
    /// Chunks that became free here, less those that were taken.
    free: AtomicU32,
    /// Pages that were split here, less those that became whole.
    split: AtomicU32,
}

impl Slab {
    /// Makes an empty slab, the one of this shelf.
    pub(super) const fn new(number: u32) -> Self {
        Self {
            number,
            pages: Stack::new(),
            free: AtomicU32::new(0),
            split: AtomicU32::new(0),
        }
    }

    /// Free chunks; a moment old, and of use as the sum of all shelves, modulo 2^32.
    pub(crate) fn free(&self) -> u32 {
        self.free.load(Relaxed)
    }

    /// Makes this count what a shelf has of free chunks on average; the rest is counted by another
    /// one.
    pub(super) fn even_out(&self, other: &Self, average: u32) {
        let more = self.free().wrapping_sub(average);
        self.free.fetch_sub(more, Relaxed);
        other.free.fetch_add(more, Relaxed);
    }

    /// Pages that are split, likewise.
    pub(crate) fn split(&self) -> u32 {
        self.split.load(Relaxed)
    }

    /// Whether there may be a free chunk.
    pub(super) fn has(&self) -> bool {
        self.pages.top() != NONE
    }

    fn list(&self, store: &impl Store, page: u32) {
        if let Some(slot) = store.slot(page) {
            slot.shelf.store(self.number, Relaxed);
        }
        self.pages.push(|page| Some(&store.slot(page)?.split), page);
    }

    /// Takes a free chunk.
    pub(crate) fn take(&self, store: &impl Store) -> Option<Index> {
        for _ in 0..TRIES {
            let page = self.pages.top();
            if page == NONE {
                return None;
            }
            if let Some(chunk) = Self::claim(store.slot(page)?) {
                self.free.fetch_sub(1, Relaxed);
                return Some(Index::chunk(page, chunk));
            }
            self.tidy(store);
        }
        None
    }

    /// Takes a free chunk of this page.
    fn claim(slot: &Slot) -> Option<u32> {
        let mut chunks = slot.chunks.load(Relaxed);
        for _ in 0..TRIES {
            if chunks & FREE == 0 {
                return None;
            }
            // ORDERING: Acquire pairs with the release in `put` and `split`: the chunk has a
            // header, and what its last ring did to it is visible.
            match slot
                .chunks
                .compare_exchange_weak(chunks, chunks & (chunks - 1), Acquire, Relaxed)
            {
                Ok(_) => return Some(chunks.trailing_zeros()),
                Err(now) => chunks = now,
            }
        }
        None
    }

    /// Takes the top page off the stack, unless it has free chunks.
    fn tidy(&self, store: &impl Store) {
        let Some(page) = self.pages.pop(|page| Some(&store.slot(page)?.split)) else {
            return;
        };
        let Some(slot) = store.slot(page) else {
            return;
        };
        // ORDERING: Release pairs with the acquire in `add`: who finds the bit clear, and pushes
        // the page, does so after the pop above.
        let clear = slot.chunks.compare_exchange(LISTED, 0, Release, Relaxed);
        if clear.is_err() {
            self.list(store, page);
        }
    }

    /// Splits a page, which is whole and the caller's; returns one of its chunks, which is the
    /// caller's, and the number of the shelf where the others are.
    pub(super) fn split_page(&self, store: &impl Store, page: u32) -> Option<(Index, u32)> {
        let slot = store.slot(page)?;
        let chunks = store.sizes().chunks();
        if chunks == 0 {
            return None;
        }
        slot.divide(store.sizes());
        self.split.fetch_add(1, Relaxed);
        self.add(store, slot, page, (1 << chunks) - 2);
        Some((Index::chunk(page, 0), slot.shelf.load(Relaxed)))
    }

    /// Gives a chunk back, which is in no ring. Returns the page if it is whole now: then it is the
    /// caller's.
    pub(crate) fn put(&self, store: &impl Store, page: u32, chunk: u32) -> Option<u32> {
        let slot = store.slot(page)?;
        let all = (1 << store.sizes().chunks()) - 1;
        let now = self.add(store, slot, page, 1 << chunk);
        if now & FREE != all {
            return None;
        }
        // ORDERING: Acquire pairs with the release of all those who gave a chunk: what was done to
        // any of them is visible to who makes one page of them.
        slot.chunks
            .compare_exchange(all | LISTED, LISTED, Acquire, Relaxed)
            .ok()?;
        self.free.fetch_sub(store.sizes().chunks(), Relaxed);
        self.split.fetch_sub(1, Relaxed);
        slot.unite(store.sizes());
        Some(page)
    }

    /// Frees chunks of a page, which are the caller's.
    fn add(&self, store: &impl Store, slot: &Slot, page: u32, bits: u32) -> u32 {
        // Counted before they can be taken, so that the count never falls below zero.
        self.free.fetch_add(bits.count_ones(), Relaxed);
        // ORDERING: Release: see `claim`. Read-modify-writes that follow continue the release
        // sequence, so each chunk's giver is seen, not only the last one's. Acquire: see `tidy`.
        let before = slot.chunks.fetch_or(bits | LISTED, AcqRel);
        if before & LISTED == 0 {
            self.list(store, page);
        }
        before | bits | LISTED
    }
}
