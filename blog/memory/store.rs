// SPDX-License-Identifier: GPL-2.0

//! The data of the pool: a component's slots, rings and shelves.

use core::ops::Range;
use kernel::blog::{
    ring::{
        PageHeader,
        Ring,
        ROOM, //
    },
    wire::page::{
        RINGS_AT,
        RINGS_MAGIC, //
    }, //
};

use super::{
    pool::{
        Shelf,
        Slot,
        Store, //
    },
    table::Slots, //
};

use crate::sys::prelude::*;

/// Called with a site and how many of its records leave their ring, in any context, if a part has
/// set it before there are components.
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) static LEAVING: SetOnce<fn(u32, u32)> = SetOnce::new();

/// Rings of a page, after its header.
pub(crate) const RINGS: usize = (PAGE_SIZE - RINGS_AT) / size_of::<Ring>();

/// What [`Store`] offers to the pool.
///
/// # Invariants
///
/// [`Slot::rings`] of each slot is null, or leads to [`RINGS`] rings that stay as long as this.
pub(crate) struct Arrays {
    /// Of the component whose rings these are.
    pub(super) slot: u16,
    pub(super) slots: Slots,
    /// In the lower half, pages that were made rings, or just are; in the upper one, how many there
    /// may be.
    pub(super) ring_pages: AtomicU64,
    /// Pages in slots.
    pub(super) pages: AtomicU32,
    pub(super) shelves: &'static [Shelf],
    pub(super) empty: PageHeader,
}

impl Arrays {
    /// Pages that are rings.
    pub(super) fn ring_pages(&self) -> u32 {
        self.ring_pages.load(Relaxed) as u32
    }

    /// Sets how many pages may be rings; those that are, or just become that, stay. There are as
    /// many slots.
    pub(super) fn set_max_ring_pages(&self, pages: u32) {
        let set = |word| Some(u64::from(pages) << 32 | u64::from(word as u32));
        // ORDERING: Release pairs with the acquire in `make_rings`: the slots are there.
        let _ = self.ring_pages.fetch_update(Release, Relaxed, set);
    }
}

impl Store for Arrays {
    fn page_size(&self) -> u32 {
        PAGE_SIZE as u32
    }

    fn slot(&self, page: u32) -> Option<&Slot> {
        self.slots.get(page)
    }

    fn shelves(&self) -> &[Shelf] {
        self.shelves
    }

    fn ring(&self, id: u32) -> Option<&Ring> {
        // ORDERING: Acquire pairs with the store in `make_rings`: the rings are there.
        let first = self.slots.get(id / RINGS as u32)?.rings.load(Acquire);
        // SAFETY: By the type invariants.
        (!first.is_null()).then(|| unsafe { &*first.add(id as usize % RINGS) })
    }

    fn rings(&self) -> u32 {
        self.ring_pages() * RINGS as u32
    }

    fn may_make_rings(&self) -> bool {
        let word = self.ring_pages.load(Relaxed);
        u64::from(word as u32) < word >> 32
    }

    fn make_rings(&self, page: u32) -> Option<Range<u32>> {
        let page = self.slot(page)?.page();
        let more = |word| (u64::from(word as u32) < word >> 32).then_some(word + 1);
        // ORDERING: Acquire: see `set_max_ring_pages`.
        let n = self.ring_pages.fetch_update(Acquire, Relaxed, more).ok()? as u32;
        let at = &self.slot(n)?.rings;
        let first = page.wrapping_byte_add(RINGS_AT).cast::<Ring>();
        let ids = n * RINGS as u32..(n + 1) * RINGS as u32;
        // SAFETY: There is a page, which is the caller's.
        unsafe { &*page }.turn_into(RINGS_MAGIC, ids.start, || {
            for (i, id) in ids.clone().enumerate() {
                // SAFETY: There is room for them after the header. The empty page stays longer than
                // the rings.
                unsafe {
                    first
                        .add(i)
                        .write(Ring::new(id, self.slot, self.empty(), ROOM))
                };
            }
        });
        // INVARIANT: A page that is in no ring, and on no shelf, stays as long as the memory.
        // ORDERING: Release publishes the rings.
        at.store(first, Release);
        Some(ids)
    }

    fn data_pages(&self) -> u32 {
        self.pages.load(Relaxed).saturating_sub(self.ring_pages())
    }

    fn empty(&self) -> *mut PageHeader {
        // Only its atomics are accessed through this pointer.
        ptr::from_ref(&self.empty).cast_mut()
    }

    #[cfg(CONFIG_BLOG_PARTS)]
    fn counts(&self) -> bool {
        LEAVING.as_ref().is_some()
    }

    #[cfg(CONFIG_BLOG_PARTS)]
    fn count(&self, site: u32, n: u32) {
        if let Some(leaves) = LEAVING.as_ref() {
            leaves(site, n);
        }
    }
}
