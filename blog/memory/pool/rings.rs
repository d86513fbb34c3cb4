// SPDX-License-Identifier: GPL-2.0

//! Rings that nobody writes to: free ones, and those whose task has ended.
//!
//! # Invariants
//!
//! A ring is live, or in one shelf's `rings`, `ended` or `retired`, or somebody holds its id, or
//! its link is [`LEFT`](super::LEFT). Those in `ended` have nothing but what is in their own room:
//! who looks for a page passes them over.

use core::{
    cell::Cell,
    sync::atomic::{
        AtomicU32,
        Ordering::Relaxed, //
    }, //
};
use kernel::blog::ring::Ring;

use super::{
    shelf::Lists,
    Pool,
    Store,
    PASSING,
    PIECES, //
};

/// How many rings are together on a shelf at first.
const NEIGHBOURS: u32 = 8;

impl<S: Store> Pool<S> {
    fn ring_link<'a>(&'a self) -> impl Fn(u32) -> Option<&'a AtomicU32> + Copy {
        |id| Some(&self.store.ring(id)?.link)
    }

    /// Adds a ring to the free ones.
    pub(crate) fn put_ring(&self, id: u32) {
        // Neighbours share cache lines.
        self.shelve_ring(self.number(id / NEIGHBOURS), id);
    }

    fn shelve_ring(&self, own: usize, id: u32) {
        if let Some((n, lists)) = self.claim_near(own) {
            lists.rings.push(self.ring_link(), id);
            self.has_rings.set(n);
        } else if let Some(ring) = self.store.ring(id) {
            self.leave(&ring.link);
        }
    }

    /// Puts rings on shelves that were left.
    pub(super) fn collect_rings(&self) {
        let rings = (0..self.store.rings()).filter_map(|id| self.store.ring(id));
        for ring in rings.filter(|ring| Self::was_left(&ring.link)) {
            match ring.is_free() {
                true => self.put_ring(ring.id()),
                false => self.shelve_retired(ring),
            }
        }
    }

    /// Takes a free ring; if there is none, one of a page that is made rings of; where there can't
    /// be more of these, the ring of a task that has ended. `steal`: as for [`Self::pages`].
    #[inline]
    pub(crate) fn take_ring(&self, cpu: u32, steal: bool) -> Option<&Ring> {
        let own = self.number(cpu);
        let live = &self.store.shelves()[own].lists.look().live;
        // It counts already when others give up a page for it.
        live.fetch_add(1, Relaxed);
        let free = self.take_free_ring(own);
        let other = || self.store.ring(self.other_ring(own, cpu, steal)?);
        let ring = free.or_else(other);
        match ring {
            Some(ring) => ring.home.store(own as u8, Relaxed),
            None => _ = live.fetch_sub(1, Relaxed),
        }
        ring
    }

    /// A ring if there is no free one. Not inlined, so that a caller that finds one doesn't pay for
    /// it.
    #[inline(never)]
    fn other_ring(&self, own: usize, cpu: u32, steal: bool) -> Option<u32> {
        let ring = self.new_ring(own, cpu, steal);
        let ring = ring.or_else(|| self.take_ended(own));
        let ring = ring.or_else(|| self.take_retired_ring(own));
        // The last few, which have set no bit.
        let pop = |lists: &Lists| lists.rings.pop(self.ring_link());
        ring.or_else(|| self.any(own, |lists| &lists.rings, pop))
    }

    /// Takes a ring whose task has ended, with what is in its room.
    pub(super) fn take_ended(&self, own: usize) -> Option<u32> {
        let has = |lists: &Lists| lists.ended.len() != 0;
        let take = |n: usize, lists: &Lists| Some((n, lists.ended.pop(self.ring_link())?));
        let (n, id) = self.find(&self.has_ended, own, has, take)?;
        let ring = self.store.ring(id)?;
        // SAFETY: The ring was taken out of its list, so it is ours alone.
        if let Some(page) = unsafe { ring.steal_last(&self.pages(n as u32, false)) } {
            self.put(own as u32, page);
        }
        self.release(n, ring);
        Some(id)
    }

    /// Takes the ring that retired first of those on a shelf, whose pages become free. `None`:
    /// there is none, or it had so many.
    fn take_retired_ring(&self, own: usize) -> Option<u32> {
        let left = Cell::new(PIECES);
        let has = |lists: &Lists| lists.retired.len() != 0;
        self.find(&self.has_retired, own, has, |n, lists| {
            let id = lists.retired.first()?;
            let ring = self.store.ring(id)?;
            while !ring.is_empty() {
                left.set(left.get().checked_sub(1)?);
                // SAFETY: As in `take_retired_page`.
                if let Some(page) = unsafe { ring.steal_last(&self.pages(n as u32, false)) } {
                    self.add_page(n, lists, page);
                }
            }
            lists.retired.pop(self.ring_link());
            self.release(n, ring);
            Some(id)
        })
    }

    /// Makes rings of a page, and takes one.
    fn new_ring(&self, own: usize, cpu: u32, steal: bool) -> Option<u32> {
        if !self.store.may_make_rings() {
            return None;
        }
        let page = self.take(cpu, 0, 0, steal)?;
        let Some(mut ids) = self.store.make_rings(page) else {
            self.put(cpu, page);
            return None;
        };
        let first = ids.next();
        // The lowest ids are taken first.
        ids.rev().for_each(|id| self.shelve_ring(own, id));
        first
    }

    fn take_free_ring(&self, own: usize) -> Option<&Ring> {
        let has = |lists: &Lists| lists.rings.len() != 0;
        let at = |id| self.store.ring(id).map(|ring| (&ring.link, ring));
        self.find(&self.has_rings, own, has, |_, lists| lists.rings.take(at))
    }

    /// Takes over a ring whose task has ended, after [`Ring::retire`].
    pub(crate) fn retire(&self, ring: &Ring) {
        let shelves = self.store.shelves();
        let own = self.number(ring.home.load(Relaxed).into());
        shelves[own].lists.look().live.fetch_sub(1, Relaxed);
        match ring.is_empty() {
            true => {
                self.release(own, ring);
                self.shelve_ring(own, ring.id());
            }
            false => self.shelve_retired(ring),
        }
    }

    fn shelve_retired(&self, ring: &Ring) {
        let own = self.number(ring.home.load(Relaxed).into());
        let Some((n, lists)) = self.claim_near(own) else {
            return self.leave(&ring.link);
        };
        let (list, has) = match ring.pages() {
            0 => (&lists.ended, &self.has_ended),
            _ => (&lists.retired, &self.has_retired),
        };
        list.push_last(self.ring_link(), ring.id());
        has.set(n);
    }

    /// Takes the oldest page of the ring that retired first, of those on a shelf. A ring that has
    /// no more is free.
    pub(super) fn take_retired_page(&self, own: usize) -> Option<u32> {
        let has = |lists: &Lists| lists.retired.len() != 0;
        self.find(&self.has_retired, own, has, |n, lists| {
            let id = lists.retired.first()?;
            let ring = self.store.ring(id)?;
            // SAFETY: The ring is in a list that the caller has claimed, so it is ours alone; and
            // it has its pages from the store's pool.
            let page = unsafe { ring.steal_last(&self.pages(n as u32, false)) };
            if ring.is_empty() {
                lists.retired.pop(self.ring_link());
                self.release(n, ring);
                lists.rings.push(self.ring_link(), id);
                if lists.rings.len() > PASSING {
                    self.has_rings.set(n);
                }
            }
            page
        })
    }

    /// Ends the life of a retired ring that is empty, which stays the caller's; it is counted on
    /// shelf `n`.
    fn release(&self, n: usize, ring: &Ring) {
        // SAFETY: The caller has the ring, which was retired, and has used up its pages.
        let (records, lost) = unsafe { ring.release(self.store.empty()) };
        self.store.shelves()[n].gone.add(records, lost);
    }
}
