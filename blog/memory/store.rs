// SPDX-License-Identifier: GPL-2.0

//! What the pool works on: a component's slots, rings, shelves and cells.

use core::{
    ptr,
    sync::atomic::{
        AtomicU32,
        AtomicU64,
        Ordering::Relaxed, //
    }, //
};
use kernel::{
    blog::ring::{
        PageHeader,
        Ring, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

use super::{
    budget::{
        Budget,
        Charge, //
    },
    pool::{
        Cell,
        Shelf,
        Sizes,
        Slot,
        Store, //
    },
    table::Table, //
};
use crate::sys::kept::KeptVec;

/// What rings are made of.
pub(crate) const SIZES: Sizes = Sizes {
    page: PAGE_SIZE as u32,
    chunk: PAGE_SIZE as u32 / 16,
};

/// Places for pages that are made together: half a KiB.
pub(super) const SLOTS: usize = 512 / size_of::<Slot>();
/// Rings that are made together: 2 KiB.
pub(super) const RINGS: usize = 2048 / size_of::<Ring>();
// A ring with its note is what a task takes besides a chunk: it is to be small.
const _: () = assert!(size_of::<Ring>() <= 256);

/// Notes that are made together: half a KiB.
const NOTES: usize = 512 / size_of::<RingNote>();

/// What else there is for each ring.
struct RingNote {
    link: AtomicU32,
    /// Position of the last page that the ring had which was here before.
    before: AtomicU64,
}

/// Bytes that another ring takes.
pub(super) const RING_BYTES: usize = 2048 / RINGS + size_of::<RingNote>();

/// What [`Store`] offers to the pool.
pub(crate) struct Arrays {
    /// Of the component whose rings these are.
    slot: u16,
    pub(super) slots: Table<Slot, SLOTS>,
    pub(super) rings: Table<Ring, RINGS>,
    notes: Table<RingNote, NOTES>,
    rings_end: AtomicU32,
    cells: KeptVec<Cell>,
    shelves: KeptVec<Shelf>,
    empty: PageHeader,
}

impl Arrays {
    /// Makes it without slots and rings, for the component in `slot`.
    pub(super) fn new(slot: u16, cells: KeptVec<Cell>, shelves: KeptVec<Shelf>) -> Self {
        Self {
            slot,
            slots: Table::new(),
            rings: Table::new(),
            notes: Table::new(),
            rings_end: AtomicU32::new(0),
            cells,
            shelves,
            empty: PageHeader::empty(),
        }
    }

    /// Adds [`RINGS`] rings; returns the id of the first.
    pub(super) fn add_rings(&self, budget: &Budget) -> Result<u32> {
        let end = self.rings.next() + RINGS as u32;
        // Notes first: one without a ring does no harm.
        while self.notes.next() < end {
            self.notes.add_chunk(budget, |_| RingNote {
                link: AtomicU32::new(0),
                before: AtomicU64::new(0),
            })?;
        }
        // Readers may remember positions of a ring that was there before.
        let first = self.rings.add_chunk(budget, |id| {
            let seq = self.notes.get(id);
            let seq = seq.map_or(0, |note| note.before.load(Relaxed));
            // SAFETY: The empty page stays longer than the rings.
            unsafe { Ring::new(id, self.slot, self.empty()) }.after(seq)
        })?;
        self.rings_end.fetch_max(end, Relaxed);
        Ok(first)
    }

    /// Takes out the rings of a chunk, all of which are the caller's.
    pub(super) fn remove_rings(&self, first: u32) -> Option<(KeptVec<Ring>, Charge)> {
        for id in first..first + RINGS as u32 {
            // A free ring has no page.
            let before = self.ring(id)?.oldest_seq().saturating_sub(1);
            self.notes.get(id)?.before.store(before, Relaxed);
        }
        self.rings.remove(first)
    }

    /// See `Memory::for_each_allocation`.
    #[cfg(CONFIG_BLOG_KUNIT_TEST)]
    pub(super) fn for_each_allocation(&self, mut f: impl FnMut(*const c_void)) {
        f(self.cells.as_ptr().cast());
        f(self.shelves.as_ptr().cast());
        self.slots.for_each_allocation(&mut f);
        self.rings.for_each_allocation(&mut f);
        self.notes.for_each_allocation(&mut f);
    }
}

impl Store for Arrays {
    fn sizes(&self) -> Sizes {
        SIZES
    }

    fn slot(&self, page: u32) -> Option<&Slot> {
        self.slots.get(page)
    }

    fn shelves(&self) -> &[Shelf] {
        &self.shelves
    }

    fn ring_link(&self, id: u32) -> Option<&AtomicU32> {
        Some(&self.notes.get(id)?.link)
    }

    fn cells(&self) -> &[Cell] {
        &self.cells
    }

    fn ring(&self, id: u32) -> Option<&Ring> {
        self.rings.get(id)
    }

    fn rings(&self) -> u32 {
        self.rings_end.load(Relaxed)
    }

    fn empty(&self) -> *mut PageHeader {
        // Only its atomics are accessed through this pointer.
        ptr::from_ref(&self.empty).cast_mut()
    }
}
