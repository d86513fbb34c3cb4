// SPDX-License-Identifier: GPL-2.0

//! Changes the budget of a component: adds pages to it, or takes pages from it, at once.
//!
//! Under the component's lock, nothing is allocated or freed. The caller has taken new pages before
//! ([`Stock`]); pages that go are only removed from their slots. A log call or a reader, which
//! don't sleep meanwhile, may still look at such a page, so it is freed after `quiesce()` has
//! waited for them.

use kernel::blog::ring::{
    Info,
    RingState, //
};

use super::{
    block::{
        pages_for,
        Block,
        Chain, //
    },
    budget,
    pool::{
        Slot,
        Store, //
    },
    source,
    store::Arrays,
    table,
    Memory,
    Owned,
    LENT_PART, //
};

use crate::sys::prelude::*;

/// What is to be added to a memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Need {
    /// Parts of slots that there are to be, and pages for those that are new.
    parts: u32,
    tables: u32,
    /// Pages in slots.
    pages: u32,
}

/// Pages that were taken for a memory.
pub(crate) struct Stock {
    need: Need,
    tables: Option<Block>,
    pages: Chain,
}

impl Stock {
    /// All that is needed: `ENOSPC` where that is beyond the limit for all, `ENOMEM` where the
    /// machine can't spare so much. Process context, without locks that reclaim may wait for.
    pub(crate) fn new(need: Need) -> Result<Self> {
        let all = need.tables.saturating_add(need.pages);
        if all > budget::room() {
            return Err(ENOSPC);
        }
        if all > budget::spare() {
            return Err(ENOMEM);
        }
        let mut pages = Chain::new();
        for _ in 0..need.pages {
            // SAFETY: It is such a page, and nobody knows it.
            unsafe { pages.push(Block::of_component()?.into_page()) };
        }
        let tables = match need.tables {
            0 => None,
            pages => Some(Block::new(pages)?),
        };
        Ok(Self {
            need,
            tables,
            pages,
        })
    }
}

impl Arrays {
    /// Slots that there are.
    pub(crate) fn slot_count(&self) -> u32 {
        self.slots.len()
    }
}

impl Owned {
    /// What it takes to have `pages` pages in all.
    pub(crate) fn need(&self, pages: u32) -> Need {
        let more = pages.saturating_sub(self.pages_in_all());
        let slots = &self.pool.store.slots;
        let taken = self.pool.slots().filter(|(_, slot)| !slot.page().is_null());
        let parts = table::parts_for(taken.count() as u32 + more).max(slots.parts());
        let tables = match parts > slots.parts() {
            true => pages_for(slots.add_bytes(0, parts)),
            false => 0,
        };
        Need {
            parts,
            tables,
            pages: more.saturating_sub(tables),
        }
    }

    /// Takes to `gone` what is too much for a budget of `pages` pages: free pages, pages of tasks
    /// that have ended, then the oldest of rings that hold the most. True: log calls that run now
    /// are to be waited for before these are freed.
    ///
    /// `EBUSY`, and there are as many as before, where what stays is more: tables, rings, and the
    /// current pages of live rings.
    pub(crate) fn begin_resize(&self, pages: u32, gone: &mut Chain) -> Result<bool> {
        if pages >= self.pages_in_all() {
            return Ok(false);
        }
        if pages < self.fixed.load(Relaxed) + self.least_pages() {
            return Err(EBUSY);
        }
        self.shrink_to(pages, gone);
        if self.pages_in_all() > pages {
            // More rings write to pages now.
            self.add_free(gone);
            return Err(EBUSY);
        }
        Ok(true)
    }

    /// Adds what was taken for it, of which it leaves nothing.
    pub(crate) fn end_resize(&mut self, mut stock: Stock) -> Result {
        if let Some(mut tables) = stock.tables.take() {
            let (mut rest, pages) = (tables.rest(), tables.pages());
            self.blocks.push_within_capacity(tables)?;
            self.fixed.fetch_add(pages, Relaxed);
            // SAFETY: The block stays as long as the memory.
            unsafe { self.pool.store.slots.add(stock.need.parts, &mut rest) }?;
        }
        self.lendable
            .fetch_add(stock.need.pages / LENT_PART, Relaxed);
        self.add_free(&mut stock.pages);
        Ok(())
    }

    /// Adds pages, none of which becomes rings yet.
    fn add_free(&self, pages: &mut Chain) {
        self.pool.store.set_max_ring_pages(0);
        self.add(|| pages.pop());
        self.set_limits();
    }
}

impl Chain {
    /// How many of them count in what all of BLog takes.
    pub(crate) fn counted(&self) -> u32 {
        self.counted
    }
}

impl Memory {
    /// Takes pages away, as far as they can be had, until there are `pages` in all.
    pub(crate) fn shrink_to(&self, pages: u32, gone: &mut Chain) {
        let pages = pages.saturating_sub(self.fixed.load(Relaxed));
        let pages = pages.max(self.least_pages());
        // Those that hold the most give first.
        let mut level = pages;
        while self.pages_held() > pages {
            if let Some(number) = self.pool.take_back() {
                self.take_out(number, gone);
                continue;
            }
            if level == 0 {
                break;
            }
            level /= 2;
            // A log call may have lent some just now.
            let more = self.pages_held().saturating_sub(pages);
            // At once: writers might be faster.
            self.take_pages(|_| level.max(1), more, |number| self.take_out(number, gone));
        }
        self.set_limits();
    }

    /// Takes a page out of its slot, which the pool has given away.
    fn take_out(&self, number: u32, gone: &mut Chain) {
        if let Some(slot) = self.pool.store.slot(number) {
            self.pool.store.pages.fetch_sub(1, Relaxed);
            // SAFETY: It is from `add`, and nobody's. Who still looks at its header finds that it
            // is in no ring.
            unsafe { gone.push(slot.empty().cast()) };
        }
    }

    /// The number of pages that aren't the kernel's.
    pub(crate) fn pages_kept(&self) -> usize {
        let kept = |(_, slot): &(u32, &Slot)| (source::get().has)(slot.page().cast());
        self.pool.slots().filter(kept).count()
    }

    /// Takes all away that was logged, but for the pages that live rings write to.
    pub(crate) fn clear(&self) {
        self.pool.drain_retired();
        self.take_pages(|_| 0, u32::MAX, |page| self.pool.put(0, page));
    }

    /// Pages that count, and that it can give up, about.
    pub(crate) fn spare(&self) -> u32 {
        let counted = self.pages_held().saturating_sub(self.pages_kept() as u32);
        let spare = self.pages_held().saturating_sub(self.least_pages());
        spare.min(counted)
    }

    /// Pages in slots that are needed at least: for rings, and those that live ones write to now.
    fn least_pages(&self) -> u32 {
        let rings = (0..self.pool.store.rings()).filter_map(|id| self.info(id));
        let writes = |info: &Info| info.state == RingState::Live && info.pages != 0;
        self.pool.store.ring_pages() + rings.filter(writes).count() as u32
    }
}
