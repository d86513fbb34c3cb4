// SPDX-License-Identifier: GPL-2.0

//! How a component's memory gets smaller: when a limit is lowered, when the machine is short of
//! memory, and when pages have to make room for rings.
//!
//! Nothing here allocates. What was taken away is to be dropped outside of locks, or given to
//! [`Doomed::later`].

use kernel::{
    blog::ring::{
        Pages,
        Ring,
        State, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

use super::{
    budget::FLAGS,
    page::{
        Doomed,
        Rings, //
    },
    pool::Store,
    store::{
        RINGS,
        SIZES, //
    },
    Memory,
    Owned, //
};

/// How often rings are looked through for pages to give back: half as much is left to each every
/// time, so that a few tries remain for what changes meanwhile.
const TRIES: u32 = 48;

/// Pages that are not given to a machine that is short of memory.
const LEAST_PAGES: u32 = 4;

impl Memory {
    /// Sets a lower budget, of this many bytes, and takes away what is more: free rings and pages,
    /// pages of tasks that have ended, then the oldest of rings that hold the most.
    ///
    /// `EBUSY`, and all is as before but for free rings, where what stays is more: tables, and the
    /// current pages of live rings.
    pub(crate) fn lower(&self, owned: &mut Owned, bytes: usize) -> Result<Doomed> {
        let before = self.budget.limit();
        self.budget.set_limit(bytes);
        let result = self.shrink_to(owned, bytes);
        if result.is_err() {
            self.budget.set_limit(before);
        }
        self.set_recycling(owned);
        result
    }

    /// Takes memory away until there are at most `bytes`, as [`Self::lower`] does; the budget
    /// stays.
    pub(crate) fn shrink_to(&self, owned: &mut Owned, bytes: usize) -> Result<Doomed> {
        let excess = |memory: &Self| memory.budget.taken().saturating_sub(bytes);
        let mut doomed = Doomed::none();
        if excess(self) == 0 {
            return Ok(doomed);
        }
        // Pages of tasks that have ended leave rings behind that are free, too.
        for _ in 0..2 {
            self.free_rings(owned, &mut doomed);
            let pages = excess(self).div_ceil(PAGE_SIZE) as u32;
            let result = match owned.count.checked_sub(pages) {
                Some(pages) => self.shrink(owned, pages),
                None => Err(EBUSY),
            };
            match result {
                Ok(more) => {
                    doomed.append(more);
                    return Ok(doomed);
                }
                Err(_) => {
                    self.pool.drain_retired(&self.store);
                }
            }
        }
        // Rings that were free are not missed.
        doomed.later();
        Err(EBUSY)
    }

    /// Takes pages away until there are `pages`; `EBUSY`, and none is taken, where that can't be.
    pub(super) fn shrink(&self, owned: &mut Owned, pages: u32) -> Result<Doomed> {
        let mut doomed = Doomed::none();
        if self.least_pages() > pages {
            return Err(EBUSY);
        }
        let before = owned.count;
        // Rings that ask for pages meanwhile get shares of what will be left, and only the first
        // ones; else they might be faster.
        self.pool.set_pages(&self.store, pages);
        self.pool.reserve_all();
        let mut level = pages.saturating_mul(SIZES.page);
        let mut tries = TRIES;
        while owned.count > pages && tries > 0 {
            if let Some(number) = self.pool.take_back(&self.store) {
                self.doom_page(owned, number, &mut doomed);
            } else {
                // Those that hold the most give first.
                level /= 2;
                tries -= 1;
                self.cut_rings(level, owned.count - pages);
            }
        }
        if owned.count > pages {
            // Current chunks are spread over too many pages.
            self.restore(owned, doomed);
            self.pool.set_pages(&self.store, before);
            return Err(EBUSY);
        }
        self.pool.set_pages(&self.store, owned.count);
        Ok(doomed)
    }

    /// Takes a page, which the caller has taken from the pool, out of its slot.
    fn doom_page(&self, owned: &mut Owned, number: u32, doomed: &mut Doomed) {
        if let Some(slot) = self.store.slot(number) {
            slot.empty();
        }
        if let Some(page) = owned.pages.get_mut(number as usize).and_then(Option::take) {
            owned.count -= 1;
            self.budget.give(PAGE_SIZE);
            doomed.push(page);
        }
    }

    /// Puts pages back which [`Self::doom_page`] has taken out.
    fn restore(&self, owned: &mut Owned, mut doomed: Doomed) {
        while let Some(page) = doomed.pop() {
            let free = (0..owned.pages.len()).find(|i| matches!(owned.pages.get(*i), Some(None)));
            let Some(number) = free else {
                // Somebody may still look at it.
                doomed.push(page);
                break;
            };
            if self.place(owned, number, page).is_ok() {
                self.budget.take(PAGE_SIZE);
                self.pool.give_page(&self.store, number as u32);
            }
        }
    }

    /// Takes away rings that are free, where all of a chunk are, but for a few.
    fn free_rings(&self, owned: &mut Owned, doomed: &mut Doomed) {
        let mut held = self.pool.hold_rings(&self.store);
        for first in (0..self.store.rings()).step_by(RINGS).rev() {
            if self.store.ring(first).is_none() {
                // They were taken away before.
                continue;
            }
            let ids = first..first + RINGS as u32;
            let all = ids.clone().all(|id| self.pool.is_held(&self.store, id));
            // A few stay, for tasks that come.
            if all && held > RINGS as u32 && self.doom_rings(owned, first, doomed) {
                held -= RINGS as u32;
                continue;
            }
            for id in ids.rev().filter(|id| self.pool.is_held(&self.store, *id)) {
                self.pool.put_ring(&self.store, id);
            }
        }
    }

    /// Takes a chunk of rings, which the caller has taken from the pool, out of the table.
    fn doom_rings(&self, owned: &mut Owned, first: u32, doomed: &mut Doomed) -> bool {
        // What holds them until they are freed. Without memory for that, they stay.
        let Ok(place) = KBox::<Rings>::new_uninit(FLAGS) else {
            return false;
        };
        let Some(rings) = self.store.remove_rings(first) else {
            return false;
        };
        self.budget.give(rings.1.bytes());
        owned.rings -= RINGS as u32;
        doomed.push_rings(KBox::write(place, Rings::new(rings)));
        true
    }

    /// Makes room for a few rings where the budget has none: takes pages away.
    pub(super) fn make_room(&self, owned: &mut Owned, bytes: usize) {
        let more = bytes.saturating_sub(self.budget.left());
        let pages = more.div_ceil(PAGE_SIZE) as u32;
        if let Ok(doomed) = self.shrink(owned, owned.count.saturating_sub(pages)) {
            doomed.later();
        }
    }

    /// Pages that it could do without: free ones, or if `short`, all but what rings write to;
    /// about, as it doesn't look at these.
    pub(crate) fn spare_pages(&self, owned: &Owned, short: bool) -> u32 {
        let most = owned.count.saturating_sub(LEAST_PAGES + self.fixed_rings());
        match short {
            true => most,
            false => most.min(self.pool.free(&self.store)),
        }
    }

    /// Gives up to so many pages to the machine, in the order of [`Self::lower`], but none that it
    /// could not do without ([`Self::spare_pages`]); returns how many. They are freed soon. The
    /// worker adds others when the machine can spare them.
    pub(crate) fn give_pages(&self, owned: &mut Owned, pages: u32, short: bool) -> u32 {
        let before = owned.count;
        let pages = pages.min(self.spare_pages(owned, short));
        // At worst, each live ring keeps a chunk of a page of its own.
        let least = self.least_pages().max(before - pages);
        if let Ok(doomed) = self.shrink(owned, least.min(before)) {
            doomed.later();
        }
        before - owned.count
    }

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
        self.pool.drain_retired(&self.store);
        self.cut_each(|_| 0);
    }

    /// Has rings that hold more than `most` says of their ids give up their oldest pages.
    fn cut_each(&self, most: impl Fn(u32) -> u32) {
        let pool = self.pages(u32::MAX, false);
        for id in 0..self.store.rings() {
            let Some(ring) = self.store.ring(id) else {
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
        for id in 0..self.store.rings() {
            let Some(ring) = self.store.ring(id) else {
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

    /// Bytes that it can't give back: all but pages, and what live rings write to now.
    pub(crate) fn least_bytes(&self, owned: &Owned) -> usize {
        let pages = owned.count.saturating_sub(self.least_pages()) as usize;
        self.budget.taken().saturating_sub(pages * PAGE_SIZE)
    }

    /// Pages that live rings need for what they write to now, at least.
    fn least_pages(&self) -> u32 {
        let mut bytes = 0u64;
        for id in 0..self.store.rings() {
            let ring = self.store.ring(id).filter(|ring| ring.held() > 0);
            let info = ring.and_then(Ring::info);
            if info.is_some_and(|info| info.state == State::Live) {
                bytes += u64::from(SIZES.chunk);
            }
        }
        bytes.div_ceil(u64::from(SIZES.page)) as u32
    }
}
