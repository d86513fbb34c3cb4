// SPDX-License-Identifier: GPL-2.0

//! How a component's memory grows: what it starts with, and what the worker adds before it runs
//! short.
//!
//! A component starts with what there is, at most with half of its budget as pages: how many rings
//! the other half has to be shared with, only time shows.

use core::mem;
use kernel::{
    blog::ring::Ring,
    page::PAGE_SIZE,
    prelude::*, //
};

use super::{
    budget::{
        self,
        FLAGS, //
    },
    page::OwnedPage,
    pool::{
        Slot,
        Store, //
    },
    store::{
        RINGS,
        RING_BYTES,
        SIZES,
        SLOTS, //
    },
    Memory,
    Owned,
    Seen, //
};
use crate::sys::kept::{
    rounded,
    KeptVec, //
};

/// The most rings for tasks that a component can have.
const MAX_TASK_RINGS: u32 = 65536;

/// What a component gets of its budget when it is switched on; the worker adds the rest as it is
/// used. A burst of log calls can't wait for a worker, nor can one be sure to get memory when it is
/// needed most; so all but large budgets have half of it from the start.
const FIRST_BYTES: usize = 16 << 20;
/// The most pages that the worker adds to a component at a time.
const GROW_PAGES: u32 = 2048;
/// Free pages that the worker keeps up at least.
const LEAST_PAGES: u32 = 4;
/// Free rings that the worker keeps up at least.
const LEAST_RINGS: u32 = 32;

/// Pages that a budget starts with.
pub(super) fn first_pages(budget: usize) -> u32 {
    ((budget / 2).min(FIRST_BYTES) / PAGE_SIZE) as u32
}

/// Rings for tasks that a budget can have: each needs a chunk at least.
pub(super) fn most_rings(budget: usize) -> u32 {
    ((budget / (RING_BYTES + SIZES.chunk as usize)) as u32).min(MAX_TASK_RINGS)
}

impl Memory {
    /// Adds rings until there are `rings`: free ones, but for those whose ids are below `fixed`.
    pub(super) fn add_rings(&self, owned: &mut Owned, rings: u32, fixed: u32) -> Result {
        let mut result = Ok(());
        while owned.rings < rings && result.is_ok() {
            result = self.store.add_rings(&self.budget).map(|first| {
                owned.rings += RINGS as u32;
                owned.rings_end = self.store.rings();
                // The lowest ids are taken first.
                for id in (first.max(fixed)..first + RINGS as u32).rev() {
                    self.pool.put_ring(&self.store, id);
                }
            });
        }
        self.describe();
        result
    }

    /// The most rings that there may be.
    fn max_rings(&self) -> u32 {
        let tasks = most_rings(self.budget.limit());
        self.fixed_rings() + tasks.next_multiple_of(RINGS as u32)
    }

    /// Lets a new task have the ring of one that has ended only if there can't be more rings: what
    /// such a ring holds is not given up just because the worker is late.
    pub(super) fn set_recycling(&self, owned: &Owned) {
        self.pool.set_recycling(owned.rings >= self.max_rings());
    }

    /// Adds slots for [`SLOTS`] pages.
    fn add_slots(&self, owned: &mut Owned) -> Result {
        let more = owned.pages.len() + SLOTS;
        if more > owned.pages.capacity() {
            let all = more.next_power_of_two();
            let bytes = rounded(all * size_of::<Option<OwnedPage>>());
            let (mut pages, charge) =
                (self.budget).pay(bytes, || Ok(KeptVec::with_capacity(all, FLAGS)?))?;
            for page in mem::take(&mut owned.pages) {
                // There is room.
                let _ = pages.push_within_capacity(page);
            }
            owned.pages = pages;
            let before = mem::replace(&mut owned.pages_charge, charge);
            self.budget.give(before.bytes());
        }
        self.store.slots.add_chunk(&self.budget, |_| Slot::new())?;
        for _ in 0..SLOTS {
            let _ = owned.pages.push_within_capacity(None);
        }
        self.describe();
        Ok(())
    }

    /// Adds one page, in a free slot from `from` on; returns the slot.
    fn add_page(&self, owned: &mut Owned, from: usize) -> Result<usize> {
        let free = |i: &usize| matches!(owned.pages.get(*i), Some(None));
        let number = match (from..owned.pages.len()).find(free) {
            Some(number) => number,
            None => {
                let number = owned.pages.len();
                self.add_slots(owned)?;
                number
            }
        };
        let page = OwnedPage::new(&self.budget)?;
        self.place(owned, number, page)?;
        self.pool.give_page(&self.store, number as u32);
        Ok(number)
    }

    /// Puts a page, which is in no ring, into a free slot; it is the caller's to give it to the
    /// pool.
    pub(super) fn place(&self, owned: &mut Owned, number: usize, page: OwnedPage) -> Result {
        let (slot, owner) = (
            self.store.slots.get(number as u32).ok_or(EINVAL)?,
            owned.pages.get_mut(number).ok_or(EINVAL)?,
        );
        let header = page.header();
        *owner = Some(page);
        owned.count += 1;
        // SAFETY: The slot is free, and the page of this size and initialised, and in no other slot
        // and no ring. Who may still look at it by a slot that it was in finds out that it has
        // changed.
        unsafe { slot.fill(header, SIZES) };
        Ok(())
    }

    /// Adds pages until there are `pages`. On an error, there may be fewer.
    pub(super) fn grow(&self, owned: &mut Owned, pages: u32) -> Result {
        let (mut from, mut result) = (0, Ok(()));
        self.pool.set_pages(&self.store, pages.max(owned.count));
        while owned.count < pages && result.is_ok() {
            result = self.add_page(owned, from).map(|number| from = number + 1);
        }
        self.pool.set_pages(&self.store, owned.count);
        result
    }

    /// Sets a higher budget, of this many bytes: adds what there should be from the start, as far
    /// as that can be had now.
    ///
    /// `ENOSPC` beyond the limit for all; then all is as before.
    pub(crate) fn raise(&self, owned: &mut Owned, bytes: usize) -> Result {
        budget::check(bytes.saturating_sub(self.budget.taken()))?;
        self.budget.set_limit(bytes);
        // What can't be had, the worker adds later.
        let _ = self.grow(owned, first_pages(bytes));
        self.set_recycling(owned);
        Ok(())
    }

    /// Looks after it, now and then: adds rings and pages before they run out. True: much is being
    /// used.
    pub(crate) fn tend(&self, owned: &mut Owned) -> bool {
        let levels = self.levels();
        let now = Seen {
            pages: levels.chunk_hits + levels.page_hits + levels.other_hits,
            rings: self.pool.rings_taken(&self.store),
            stolen: levels.stolen + levels.dry,
        };
        let before = mem::replace(&mut owned.seen, now);
        let pages = now.pages.wrapping_sub(before.pages).min(GROW_PAGES.into()) as u32;
        let rings = now
            .rings
            .wrapping_sub(before.rings)
            .min(MAX_TASK_RINGS.into()) as u32;
        let dry = now.stolen != before.stolen;

        self.tend_rings(owned, rings);
        self.tend_pages(owned, pages);
        if dry {
            self.tend_shares();
        }
        self.pool.refresh(&self.store);
        pages > 0 || rings > 0 || dry
    }

    fn tend_pages(&self, owned: &mut Owned, taken: u32) {
        let free = self.pool.free(&self.store);
        let low = (owned.count / 2)
            .max(taken.saturating_mul(4))
            .max(LEAST_PAGES);
        if free >= low || self.budget.left() < PAGE_SIZE {
            return;
        }
        let before = owned.count;
        let step = low.clamp(LEAST_PAGES, GROW_PAGES);
        let result = self.grow(owned, before.saturating_add(step));
        owned.grown += u64::from(owned.count - before);
        if result == Err(ENOMEM) {
            owned.grow_failed += 1;
        }
    }

    fn tend_rings(&self, owned: &mut Owned, taken: u32) {
        let free = self.pool.rings_free(&self.store);
        let stock = LEAST_RINGS
            .max(taken.saturating_mul(2))
            .max(owned.count / 8)
            .min(most_rings(self.budget.limit()) / 4);
        if free < stock {
            let wanted = self
                .max_rings()
                .min(owned.rings.saturating_add(stock - free));
            let more = wanted.saturating_sub(owned.rings) as usize * RING_BYTES;
            if more > self.budget.left() && owned.count > LEAST_PAGES {
                self.make_room(owned, more);
            }
            if let Err(e) = self.add_rings(owned, wanted, 0) {
                owned.grow_failed += u64::from(e == ENOMEM);
                // New tasks can't wait for memory that isn't there.
                self.pool.set_recycling(true);
            }
            if owned.rings >= wanted {
                self.set_recycling(owned);
            }
        }
    }

    /// Counts who shares the pages, and finds who holds the most.
    fn tend_shares(&self) {
        let (mut others, mut most) = (0, (0, 0));
        for id in 0..self.store.rings() {
            let held = self.store.rings.get(id).map_or(0, Ring::held);
            others += u32::from(held > 0 && id < self.fixed_rings());
            most = most.max((held, id));
        }
        self.pool.shares().set_others(others);
        self.pool.shares().point_at(most.1);
    }
}
