// SPDX-License-Identifier: GPL-2.0

//! How the budget of a component is changed: pages are added to it, or taken from it, there and
//! then.
//!
//! Nothing here allocates, and nothing is freed, as the component's lock is held. What is to be
//! added has been taken before ([`Stock`]). What goes is first taken out of the pool: nobody finds
//! it any more. But somebody may have found it before: a log call that looks at the oldest page of
//! another ring while that is taken away, or a reader that follows a ring's pointer to its current
//! page. None of these sleeps as long as it may look at the page. So the page stays in its slot,
//! closed, until `quiesce()` has waited for them
//! ([`Owned::free_dying`]).

use core::{
    iter,
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        Ordering::Relaxed, //
    }, //
};
use kernel::{
    blog::ring::{
        Pages,
        Ring,
        RingState, //
    },
    prelude::*, //
};

use super::{
    block::{
        add_array,
        free_pages,
        pages_for,
        Block, //
    },
    budget,
    max_ring_pages,
    pool::{
        List,
        Slot,
        Store, //
    },
    store::{
        SIZES,
        SLOTS, //
    },
    Memory,
    Owned,
    LENT_PART, //
};

/// How often rings are looked through for pages to give back: half as much is left to each every
/// time, so that a few tries remain for what changes meanwhile.
const TRIES: u32 = 48;

/// Tables that came when a budget was raised.
pub(super) struct More {
    block: Block,
    pub(super) next: Option<KBox<More>>,
}

/// What is to be added to a memory.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Pages for tables.
    tables: u32,
    /// Pages in slots.
    pages: u32,
    /// Lengths of the arrays of pointers; 0: it is long enough.
    slots: u32,
    rings: u32,
}

/// Pages that were taken for a memory.
pub(crate) struct Stock {
    need: Need,
    tables: Option<KBox<More>>,
    pages: KVVec<Block>,
}

impl Stock {
    /// None.
    pub(crate) const fn none() -> Self {
        Self {
            need: Need {
                tables: 0,
                pages: 0,
                slots: 0,
                rings: 0,
            },
            tables: None,
            pages: KVVec::new(),
        }
    }

    /// All that is needed: `ENOSPC` where that is beyond the limit for all, `ENOMEM` where the
    /// machine can't spare so much. Process context, without locks.
    pub(crate) fn new(need: Need) -> Result<Self> {
        let all = need.tables.saturating_add(need.pages);
        if all > budget::room() {
            return Err(ENOSPC);
        }
        if all > budget::spare() {
            return Err(ENOMEM);
        }
        let mut pages = KVVec::with_capacity(need.pages as usize, GFP_KERNEL)?;
        for _ in 0..need.pages {
            pages.push(Block::new(1)?, GFP_KERNEL)?;
        }
        let tables = match need.tables {
            0 => None,
            pages => Some(KBox::new(
                More {
                    block: Block::new(pages)?,
                    next: None,
                },
                GFP_KERNEL,
            )?),
        };
        Ok(Self {
            need,
            tables,
            pages,
        })
    }
}

impl Owned {
    /// Sets a budget of `pages` pages. Where it takes more than there is in `stock`, which is to
    /// have been empty, says what that is, and nothing has changed.
    ///
    /// A lower one takes away free pages, pages of tasks that have ended, then the oldest of rings
    /// that hold the most. `EBUSY`, and all is as before, where what stays is more: tables, rings,
    /// and the current pages of live rings. `EAGAIN`: a log call is just making rings.
    pub(crate) fn resize(&mut self, pages: u32, stock: &mut Stock) -> Result<Option<Need>> {
        let now = self.fixed_pages() + self.pages_held();
        if pages <= now {
            self.shrink(self.pages_held().saturating_sub(now - pages))?;
            return Ok(None);
        }
        let need = self.need(pages - now);
        if need != stock.need {
            return Ok(Some(need));
        }
        if let Some(tables) = stock.tables.take() {
            if let Err(tables) = self.add_tables(tables, need) {
                stock.tables = Some(tables);
                return Err(EAGAIN);
            }
        }
        for (number, slot) in self.pool.store.all_slots() {
            if !slot.is_empty() {
                continue;
            }
            let Some(page) = stock.pages.pop() else {
                break;
            };
            self.place(number, page);
            self.pool.give_page(number);
        }
        self.lendable.fetch_add(need.pages / LENT_PART, Relaxed);
        self.set_limits();
        self.describe();
        Ok(None)
    }

    /// What it takes to have `more` pages more.
    fn need(&self, more: u32) -> Need {
        let free = self
            .pool
            .store
            .all_slots()
            .filter(|(_, slot)| slot.is_empty());
        let free = free.count() as u32;
        let mut need = Need {
            pages: more,
            ..Need::default()
        };
        // At least twice as long each time, so that there are few of them.
        let longer = |len: u32, least: u32| match least > len {
            true => least.max(len * 2),
            false => 0,
        };
        let rings = max_ring_pages(self.pages_held() + more);
        need.rings = longer(self.pool.store.rings.len(), rings);
        let parts = more.saturating_sub(free).div_ceil(SLOTS as u32);
        if parts > 0 {
            need.slots = longer(self.pool.store.slots.len(), self.slot_parts() + parts);
        }
        let bytes = add_array::<AtomicPtr<()>>(0, (need.slots + need.rings) as usize);
        need.tables = pages_for(add_array::<[Slot; SLOTS]>(bytes, parts as usize));
        need.pages = more.saturating_sub(need.tables);
        need
    }

    /// Parts of the table of slots.
    fn slot_parts(&self) -> u32 {
        let slots = &self.pool.store.slots;
        (0..slots.len())
            .take_while(|n| slots.get(*n).is_some())
            .count() as u32
    }

    /// Adds tables: longer arrays of pointers, and slots. Has them back where a log call is just
    /// making rings.
    fn add_tables(&mut self, mut tables: KBox<More>, need: Need) -> Result<(), KBox<More>> {
        if need.rings > 0 && !self.pool.store.close_rings() {
            return Err(tables);
        }
        let (store, mut rest) = (&self.pool.store, tables.block.rest());
        // SAFETY: The block stays as long as the memory. There is room in it, as `need` says.
        unsafe {
            if need.rings > 0 {
                let none = |_| AtomicPtr::new(ptr::null_mut());
                if let Ok(longer) = rest.array(need.rings as usize, none) {
                    store.rings.widen(longer);
                }
                store.open_rings();
            }
            if need.slots > 0 {
                let none = |_| AtomicPtr::new(ptr::null_mut());
                if let Ok(longer) = rest.array(need.slots as usize, none) {
                    store.slots.widen(longer);
                }
            }
            for n in self.slot_parts()..store.slots.len() {
                let part = rest.array(1, |_| [const { Slot::new() }; SLOTS]);
                let Ok(part) = part else {
                    break;
                };
                store.slots.set(n, part.as_ptr());
            }
        }
        self.fixed.fetch_add(tables.block.pages(), Relaxed);
        tables.next = self.more.take();
        self.more = Some(tables);
        Ok(())
    }

    /// Takes pages away until there are `pages`; `EBUSY`, and none is taken, where that can't be.
    fn shrink(&mut self, pages: u32) -> Result {
        let rings = self.pool.store.ring_pages();
        if rings + self.least_pages() > pages {
            return Err(EBUSY);
        }
        let doomed = List::new();
        // Rings that ask for pages meanwhile get shares of what will be left, and only the first
        // ones; else they might be faster.
        self.pool.set_pages(pages - rings);
        self.pool.reserve_all();
        let mut level = pages.saturating_mul(SIZES.page);
        let mut tries = TRIES;
        while self.pages_held() > pages && tries > 0 {
            if let Some(number) = self.pool.take_back() {
                self.doom(number, &doomed);
            } else {
                // Those that hold the most give first.
                level /= 2;
                tries -= 1;
                self.cut_rings(level, self.pages_held() - pages);
            }
        }
        let enough = self.pages_held() <= pages;
        while let Some(number) = doomed.pop(|n| self.link(n)) {
            match enough {
                true => self.leaving.push(|n| self.link(n), number),
                // Current chunks are spread over too many pages.
                false => self.undo(number),
            }
        }
        self.set_limits();
        match enough {
            true => Ok(()),
            false => Err(EBUSY),
        }
    }

    /// Takes away what can be had, until there are `pages` in all.
    pub(crate) fn shrink_to(&mut self, pages: u32) {
        let least = self.pool.store.ring_pages() + self.least_pages();
        let pages = pages.saturating_sub(self.fixed_pages()).max(least);
        if pages < self.pages_held() {
            // What can't be had now stays.
            let _ = self.shrink(pages);
        }
    }

    fn link(&self, number: u32) -> Option<&AtomicU32> {
        Some(self.pool.store.slot(number)?.link())
    }

    /// Takes a page out of sight, which the caller has taken from the pool.
    fn doom(&self, number: u32, doomed: &List) {
        if let Some(slot) = self.pool.store.slot(number) {
            slot.close();
            self.in_slots.fetch_sub(1, Relaxed);
            budget::leave(1);
            doomed.push(|n| self.link(n), number);
        }
    }

    /// Undoes [`Self::doom`].
    fn undo(&self, number: u32) {
        if let Some(slot) = self.pool.store.slot(number) {
            slot.open();
            self.in_slots.fetch_add(1, Relaxed);
            budget::left(1);
            self.pool.give_page(number);
        }
    }

    /// Begins to free what was taken away, and to mend what [`Memory::tend`] has found: true:
    /// [`Self::free_dying`] is to be called when nobody looks at it any more. One at a time.
    pub(crate) fn begin_freeing(&mut self) -> bool {
        while let Some(number) = self.leaving.pop(|n| self.link(n)) {
            self.dying.push(|n| self.link(n), number);
        }
        self.begin_mending() | (self.dying.len() > 0)
    }

    /// Whether it has given up pages that aren't freed yet.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.len() + self.dying.len() > 0
    }

    /// Frees it, and mends what was held by who has died.
    ///
    /// # Safety
    ///
    /// No log call runs any more that ran at [`Self::begin_freeing`].
    pub(crate) unsafe fn free_dying(&mut self) {
        // SAFETY: By this function's requirement.
        unsafe { self.mend() };
        budget::left(self.dying.len());
        let next = || self.dying.pop(|n| self.link(n));
        let pages =
            iter::from_fn(next).filter_map(|n| Some(self.pool.store.slot(n)?.empty().cast()));
        // SAFETY: The pages are from `place`, and nobody has looked at them since they were taken
        // out of sight.
        unsafe { free_pages(pages) };
    }
}

impl Memory {
    /// Has rings that hold more than `most` bytes give up their oldest pages; but shared ones may
    /// hold what [`Self::max_shared`] says.
    pub(crate) fn cut_to(&self, most: u32) {
        self.cut_each(|id| match id < self.fixed_rings() {
            true => self.max_shared(most),
            false => most,
        });
    }

    /// Takes all away that was logged, but for the pages that live rings write to.
    pub(crate) fn clear(&self) {
        self.pool.drain_retired();
        self.cut_each(|_| 0);
    }

    /// Has rings that hold more than `most` says of their ids give up their oldest pages.
    fn cut_each(&self, most: impl Fn(u32) -> u32) {
        let pool = self.pages(u32::MAX, false);
        for id in 0..self.pool.store.rings() {
            let Some(ring) = self.pool.store.ring(id) else {
                continue;
            };
            let most = most(id);
            // A writer may be as fast: what it takes meanwhile is new.
            for _ in 0..ring.pages() {
                if ring.held() <= most {
                    break;
                }
                // SAFETY: The pool is the one of all of the ring's pages, and what the ring has
                // given up is ours.
                unsafe {
                    match ring.steal(&pool) {
                        Some(index) => pool.put(index),
                        None => break,
                    }
                }
            }
        }
    }

    /// Has rings that hold more than `level` bytes give up their oldest pages, about `pages` in
    /// all.
    fn cut_rings(&self, level: u32, pages: u32) {
        let pool = self.pages(u32::MAX, false);
        let mut left = u64::from(pages) * u64::from(SIZES.page);
        for id in 0..self.pool.store.rings() {
            let Some(ring) = self.pool.store.ring(id) else {
                continue;
            };
            while left > 0 && ring.held() > level {
                let held = ring.held();
                // SAFETY: The pool is the one of all of the ring's pages.
                let Some(index) = (unsafe { ring.steal(&pool) }) else {
                    break;
                };
                left = left.saturating_sub(held.saturating_sub(ring.held()).into());
                // SAFETY: The ring has just given it up.
                unsafe { pool.put(index) };
            }
        }
    }

    /// Pages that live rings need for what they write to now, at least.
    fn least_pages(&self) -> u32 {
        let mut bytes = 0u64;
        for id in 0..self.pool.store.rings() {
            let ring = self.pool.store.ring(id).filter(|ring| ring.held() > 0);
            let info = ring.and_then(Ring::info);
            if info.is_some_and(|info| info.state == RingState::Live) {
                bytes += u64::from(SIZES.chunk);
            }
        }
        bytes.div_ceil(u64::from(SIZES.page)) as u32
    }
}
