// SPDX-License-Identifier: GPL-2.0

//! Rings that nobody writes to: free ones, and those whose task has ended.
//!
//! # Invariants
//!
//! A ring is live, or in one shelf's `rings` or `retired`, or somebody holds its id, or its link is
//! [`LEFT`].

use core::sync::atomic::{
    AtomicU32,
    Ordering::*, //
};
use kernel::blog::ring::Ring;

use super::{
    shelf::{
        Gone,
        Lists,
        ONCE, //
    },
    Pool,
    Store,
    LEFT,
    LOOKS,
    PIECES, //
};

/// Where there are many shelves, so many times as there are shelves a call uses what was found out
/// by a look at all of them.
const SELDOM: u32 = 4;

/// From so many shelves on, it costs too much to look at all of them often.
const MANY: usize = 8;

/// How many rings are together on a shelf at first.
const NEIGHBOURS: u32 = 8;

impl<S: Store> Pool<S> {
    fn ring_link<'a>(&'a self) -> impl Fn(u32) -> Option<&'a AtomicU32> + Copy {
        |id| self.store.ring_link(id)
    }

    /// Adds a ring to the free ones.
    pub(crate) fn put_ring(&self, id: u32) {
        // Neighbours share cache lines.
        self.shelve_ring(self.number(id / NEIGHBOURS), id);
    }

    fn shelve_ring(&self, own: usize, id: u32) {
        match self.claim_near(own) {
            Some((n, lists)) => {
                lists.rings.push(self.ring_link(), id);
                self.has_rings.set(n);
            }
            None => self.leave_ring(id),
        }
    }

    /// Leaves a ring where [`Pool::collect`] finds it.
    fn leave_ring(&self, id: u32) {
        if let Some(link) = self.store.ring_link(id) {
            // ORDERING: Release pairs with `collect_rings`: what was done to the ring is visible.
            link.store(LEFT, Release);
            self.has_left();
        }
    }

    /// Puts rings on shelves that were left.
    pub(super) fn collect_rings(&self) {
        for id in 0..self.store.rings() {
            let Some((link, ring)) = self.store.ring_link(id).zip(self.store.ring(id)) else {
                continue;
            };
            // ORDERING: Acquire: see `leave_ring`.
            if link.load(Relaxed) == LEFT
                && (link.compare_exchange(LEFT, id, Acquire, Relaxed)).is_ok()
            {
                match ring.pages() {
                    0 => self.put_ring(id),
                    _ => self.shelve_retired(self.number(id), id, ring),
                }
            }
        }
    }

    /// Takes a free ring; if there is none, one of a page that is made rings of; where there
    /// can't be more of these, pages of those that retired first become free until there is one. Of
    /// one that holds a lot, some. `steal`: as for [`Self::pages`].
    #[inline]
    pub(crate) fn take_ring(&self, cpu: u32, steal: bool) -> Option<u32> {
        let own = self.number(cpu);
        let live = &self.store.shelves()[own].lists.look().live;
        // It counts already when others give up a page for it.
        live.fetch_add(1, Relaxed);
        let id = match self.take_free_ring(own) {
            Some(id) => Some(id),
            None => self.other_ring(own, cpu, steal),
        };
        if id.is_none() {
            live.fetch_sub(1, Relaxed);
        }
        id
    }

    /// A ring if there is no free one. Not inlined, so that a caller that finds one doesn't pay for
    /// it.
    #[inline(never)]
    fn other_ring(&self, own: usize, cpu: u32, steal: bool) -> Option<u32> {
        let mut id = self.new_ring(own, cpu, steal);
        for _ in 0..PIECES {
            if id.is_some() {
                break;
            }
            let page = self.take_retired_page(cpu)?;
            self.put(cpu, page);
            id = self.take_free_ring(own);
        }
        id
    }

    /// Makes rings of a page, and takes one.
    fn new_ring(&self, own: usize, cpu: u32, steal: bool) -> Option<u32> {
        if !self.store.may_make_rings() {
            return None;
        }
        let page = self.take_page(cpu, steal)?;
        let Some(mut ids) = self.store.make_rings(page) else {
            self.shelve(own, page);
            return None;
        };
        let first = ids.next();
        // The lowest ids are taken first.
        ids.rev().for_each(|id| self.shelve_ring(own, id));
        first
    }

    fn take_free_ring(&self, own: usize) -> Option<u32> {
        let has = |lists: &Lists| lists.rings.len() != 0;
        let take = |_, lists: &Lists| lists.rings.pop(self.ring_link());
        self.find(&self.has_rings, own, has, take)
    }

    /// Takes over a ring whose task has ended, after [`Ring::retire`].
    pub(crate) fn retire(&self, cpu: u32, id: u32) {
        let own = self.number(cpu);
        let shelf = &self.store.shelves()[own];
        shelf.lists.look().live.fetch_sub(1, Relaxed);
        let Some(ring) = self.store.ring(id) else {
            return;
        };
        if ring.pages() == 0 {
            self.release(&shelf.gone, ring);
            return self.shelve_ring(own, id);
        }
        self.shelve_retired(own, id, ring);
    }

    fn shelve_retired(&self, own: usize, id: u32, ring: &Ring) {
        let Some((n, lists)) = self.claim_near(own) else {
            return self.leave_ring(id);
        };
        if lists.retired.first().is_none() {
            lists.oldest.store(ring.ended(), Relaxed);
        }
        lists.retired.push_last(self.ring_link(), id);
        self.has_retired.set(n);
    }

    /// Takes the oldest page of the ring that retired first, about. A ring that has no more is
    /// free.
    pub(super) fn take_retired_page(&self, cpu: u32) -> Option<u32> {
        if self.has_retired.is_clear() {
            return None;
        }
        let has = |lists: &Lists| lists.retired.len() != 0;
        let first = self.source(self.number(cpu));
        self.find(&self.has_retired, first, has, |n, lists| {
            self.retired_page_of(n, lists)
        })
    }

    /// Takes the oldest page of the ring that retired first of those on shelf `n`, which the caller
    /// has claimed.
    fn retired_page_of(&self, n: usize, lists: &Lists) -> Option<u32> {
        let pages = self.pages(n as u32, false);
        for _ in 0..LOOKS {
            let id = lists.retired.first()?;
            let ring = self.store.ring(id)?;
            // SAFETY: The ring is in a list that the caller has claimed, so it is ours alone; and
            // it has its pages from the store's pool.
            let page = unsafe { ring.steal_last(&pages) };
            // Where a thief is just taking a page, the ring seems to have one more than it has; the
            // next one who comes for it finds out.
            if page.is_none() || ring.pages() == 0 {
                lists.retired.pop(self.ring_link());
                let next = lists.retired.first().and_then(|id| self.store.ring(id));
                if let Some(next) = next {
                    lists.oldest.store(next.ended(), Relaxed);
                }
                self.release(&self.store.shelves()[n].gone, ring);
                lists.rings.push(self.ring_link(), id);
                self.has_rings.set(n);
            }
            if page.is_some() {
                return page;
            }
        }
        None
    }

    /// Gives up all retired rings, but for those that somebody is just looking at: their pages
    /// become free. Takes as long as it takes: process context.
    pub(crate) fn drain_retired(&self) {
        self.collect();
        while let Some(page) = self.take_retired_page(0) {
            self.put(0, page);
        }
    }

    /// The shelf whose retired rings go first for a caller on this one: its own, unless others have
    /// older ones by more than an eighth of the time that there is. As that means to look at all
    /// shelves, it holds for a while.
    fn source(&self, own: usize) -> usize {
        let shelves = self.store.shelves();
        let shelf = &shelves[own];
        if let Some(left) = shelf.source.load(Relaxed).checked_sub(ONCE) {
            shelf.source.store(left, Relaxed);
            let source = (left % ONCE) as usize;
            if shelves[source].lists.look().retired.len() != 0 {
                return source;
            }
        }
        let oldest = |n: usize| {
            let lists = shelves[n].lists.look();
            (lists.retired.len() != 0).then(|| lists.oldest.load(Relaxed))
        };
        let first = (0..shelves.len()).filter_map(oldest).min().unwrap_or(0);
        let last = shelf.lists.look().retired.last();
        let last = last.and_then(|id| self.store.ring(id));
        let last = last.map_or(0, Ring::ended);
        let until = first.saturating_add(last.saturating_sub(first) / 8);
        let is_old = |n: &usize| oldest(*n).is_some_and(|first| first <= until);
        let n = (own..shelves.len()).chain(0..own).find(is_old);
        let n = n.unwrap_or(own);
        let times = match shelves.len() {
            ..MANY => shelves[n].lists.look().retired.len() / 8,
            many => SELDOM.saturating_mul(many as u32),
        };
        shelf.source.store(times * ONCE + n as u32, Relaxed);
        n
    }

    /// Ends the life of a retired ring without pages, which stays the caller's.
    fn release(&self, gone: &Gone, ring: &Ring) {
        // SAFETY: The caller has the ring, which was retired, and has used up its pages.
        let (records, lost) = unsafe { ring.release(self.store.empty()) };
        gone.add(records, lost);
    }
}
