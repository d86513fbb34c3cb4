// SPDX-License-Identifier: GPL-2.0

//! What the pool works on: a component's slots, rings and shelves.

use core::{
    ops::Range,
    ptr,
    sync::atomic::{
        AtomicU32,
        Ordering::{
            Acquire,
            Relaxed,
            Release, //
        }, //
    }, //
};
use kernel::{
    blog::ring::{
        PageHeader,
        Ring, //
    },
    page::PAGE_SIZE, //
};

use super::{
    block::Array,
    pool::{
        Shelf,
        Sizes,
        Slot,
        Store, //
    },
    table::Table, //
};

/// What rings are made of.
pub(crate) const SIZES: Sizes = Sizes {
    page: PAGE_SIZE as u32,
    chunk: PAGE_SIZE as u32 / 16,
};

/// Rings of a page.
pub(super) const RINGS: usize = PAGE_SIZE / size_of::<Ring>() - 1;
/// Places for pages that are a part of their table.
pub(super) const SLOTS: usize = 16;
// A ring is what a task takes besides a chunk: it is to be small.
const _: () = assert!(size_of::<Ring>() <= 256);

/// A page of rings, and what links those that are free.
#[repr(C)]
pub(super) struct RingPage {
    rings: [Ring; RINGS],
    links: [AtomicU32; RINGS],
}

const _: () = assert!(size_of::<RingPage>() <= PAGE_SIZE);

/// See [`Arrays::close_rings`].
const CLOSED: u32 = 1 << 31;

/// What [`Store`] offers to the pool.
pub(crate) struct Arrays {
    /// Of the component whose rings these are.
    slot: u16,
    pub(super) slots: Table<[Slot; SLOTS]>,
    pub(super) rings: Table<RingPage>,
    /// Pages that were made rings, or just are; [`CLOSED`] while there can't be more. And how many
    /// there may be.
    ring_pages: AtomicU32,
    max_ring_pages: AtomicU32,
    shelves: Array<Shelf>,
    empty: PageHeader,
}

impl Arrays {
    /// Makes it without slots and rings, for the component in `slot`.
    pub(super) fn new(
        slot: u16,
        slots: Table<[Slot; SLOTS]>,
        rings: Table<RingPage>,
        shelves: Array<Shelf>,
    ) -> Self {
        Self {
            slot,
            slots,
            rings,
            ring_pages: AtomicU32::new(0),
            max_ring_pages: AtomicU32::new(0),
            shelves,
            empty: PageHeader::empty(),
        }
    }

    /// Pages that are rings.
    pub(super) fn ring_pages(&self) -> u32 {
        self.ring_pages.load(Relaxed) & !CLOSED
    }

    /// Sets how many pages may be rings. Those that are stay.
    pub(super) fn set_max_ring_pages(&self, pages: u32) {
        self.max_ring_pages.store(pages, Relaxed);
    }

    /// Has no rings made until [`Self::open_rings`]. False: some are just being made, and it has
    /// not happened.
    pub(super) fn close_rings(&self) -> bool {
        // A call that makes rings has counted them in this word before, or finds it closed.
        let pages = self.ring_pages.fetch_or(CLOSED, Relaxed) & !CLOSED;
        let closed = (0..pages).all(|n| self.rings.get(n).is_some());
        if !closed {
            self.open_rings();
        }
        closed
    }

    /// Undoes [`Self::close_rings`].
    pub(super) fn open_rings(&self) {
        // ORDERING: Release pairs with the acquire in `make_rings`: a call that makes rings from
        // now on finds the table as it is now.
        self.ring_pages.fetch_and(!CLOSED, Release);
    }

    fn part(&self, id: u32) -> Option<(&RingPage, usize)> {
        let page = self.rings.get(id / RINGS as u32)?;
        Some((page, id as usize % RINGS))
    }

    /// All slots.
    pub(super) fn all_slots(&self) -> impl Iterator<Item = (u32, &Slot)> {
        (0..).map_while(|number| Some((number, self.slot(number)?)))
    }
}

impl Store for Arrays {
    fn sizes(&self) -> Sizes {
        SIZES
    }

    fn slot(&self, page: u32) -> Option<&Slot> {
        let part = self.slots.get(page / SLOTS as u32)?;
        Some(&part[page as usize % SLOTS])
    }

    fn shelves(&self) -> &[Shelf] {
        &self.shelves
    }

    fn ring_link(&self, id: u32) -> Option<&AtomicU32> {
        let (page, n) = self.part(id)?;
        Some(&page.links[n])
    }

    fn ring(&self, id: u32) -> Option<&Ring> {
        let (page, n) = self.part(id)?;
        Some(&page.rings[n])
    }

    fn rings(&self) -> u32 {
        self.ring_pages() * RINGS as u32
    }

    fn may_make_rings(&self) -> bool {
        self.ring_pages.load(Relaxed) < self.max_ring_pages.load(Relaxed)
    }

    fn make_rings(&self, page: u32) -> Option<Range<u32>> {
        let slot = self.slot(page)?;
        let most = self.max_ring_pages.load(Relaxed);
        let more = |pages| (pages < most).then_some(pages + 1);
        // ORDERING: Acquire: see `open_rings`.
        let n = self.ring_pages.fetch_update(Acquire, Relaxed, more).ok()?;
        let memory = slot.close().cast::<RingPage>();
        let ids = n * RINGS as u32..(n + 1) * RINGS as u32;
        for (i, id) in ids.clone().enumerate() {
            // SAFETY: There is a page, which is the caller's. A reader that still looks at it as
            // one of records finds out that it has changed. The empty page stays longer than the
            // rings.
            unsafe {
                (&raw mut (*memory).rings[i]).write(Ring::new(id, self.slot, self.empty()));
                (&raw mut (*memory).links[i]).write(AtomicU32::new(0));
            }
        }
        // SAFETY: A page that is closed stays as long as the component's memory.
        unsafe { self.rings.set(n, memory) };
        Some(ids)
    }

    fn empty(&self) -> *mut PageHeader {
        // Only its atomics are accessed through this pointer.
        ptr::from_ref(&self.empty).cast_mut()
    }
}
