// SPDX-License-Identifier: GPL-2.0

//! Rings that nobody writes to: free ones, and those whose task has ended.
//!
//! Needs nothing but `core` and `ring.rs`, and compiles on the host unchanged. Any context, NMI
//! included.
//!
//! # Invariants
//!
//! A ring is live, or in one shelf's `rings` or `retired`, or somebody holds its id.

use core::sync::atomic::Ordering::Relaxed;
use kernel::blog::{
    ring::{
        Pages,
        Ring, //
    },
    wire::record::LOST_CAUSES, //
};

use super::{
    shelf::Gone,
    shelf_count,
    Pool,
    Store, //
};

/// From so many shelves on, it costs too much to look at all of them often.
const MANY: usize = 8;

/// How often it is looked for the oldest retired ring.
const LOOKS: u32 = 4;

/// How many rings are together on a shelf at first.
const NEIGHBOURS: u32 = 8;

/// How many pages of a retired ring go in one operation, and how many empty ones it passes over:
/// time in an NMI is bounded.
const BATCH: u32 = 64;

impl Pool {
    /// Free rings; a moment old.
    pub(crate) fn rings_free(&self, store: &impl Store) -> u32 {
        store.shelves().iter().map(|shelf| shelf.rings.len()).sum()
    }

    /// Retired rings; a moment old.
    pub(crate) fn retired(&self, store: &impl Store) -> u32 {
        let retired = store.shelves().iter().map(|shelf| shelf.retired.len());
        retired.sum()
    }

    /// Records of rings that were given to another task, and their losses by cause, in all.
    pub(crate) fn gone(&self, store: &impl Store) -> (u64, [u64; LOST_CAUSES]) {
        let add = |(records, mut sums): (u64, [u64; LOST_CAUSES]), gone: &Gone| {
            let (more, lost) = gone.get();
            for (sum, lost) in sums.iter_mut().zip(lost) {
                *sum = sum.wrapping_add(lost);
            }
            (records.wrapping_add(more), sums)
        };
        let gone = store.shelves().iter().map(|shelf| &shelf.gone);
        gone.fold((0, [0; LOST_CAUSES]), add)
    }

    /// Adds a ring to the free ones.
    pub(crate) fn put_ring(&self, store: &impl Store, id: u32) {
        // Neighbours share cache lines.
        self.shelve_ring(store, Self::number(store, id / NEIGHBOURS), id);
    }

    fn shelve_ring(&self, store: &impl Store, n: usize, id: u32) {
        store.shelves()[n].rings.push(|i| store.ring_link(i), id);
        self.has_rings.set(n);
    }

    /// Takes a free ring; where there is none, one of a page that is made rings of; where there
    /// can't be more of these, the one that retired first, whose pages become free. One that holds
    /// a lot is only made shorter. `steal`: as for [`Self::pages`].
    #[inline]
    pub(crate) fn take_ring(&self, store: &impl Store, cpu: u32, steal: bool) -> Option<u32> {
        let own = Self::number(store, cpu);
        let live = &store.shelves()[own].live;
        // Before it is there: it takes its share of the pages.
        live.fetch_add(1, Relaxed);
        let id = self.take_free_ring(store, own);
        let id = id.or_else(|| self.other_ring(store, own, cpu, steal));
        if id.is_none() {
            live.fetch_sub(1, Relaxed);
        }
        id
    }

    /// A ring where there is no free one. Not inlined, so that who finds one doesn't pay for this.
    #[inline(never)]
    fn other_ring(&self, store: &impl Store, own: usize, cpu: u32, steal: bool) -> Option<u32> {
        let new = self.new_ring(store, own, cpu, steal);
        if new.is_some() {
            return new;
        }
        let (n, retired) = self.take_retired(store, own)?;
        if !self.drain(store, cpu, retired, BATCH) {
            self.put_back(store, n, retired);
            return None;
        }
        Some(retired)
    }

    /// Makes rings of a page, and takes one.
    fn new_ring(&self, store: &impl Store, own: usize, cpu: u32, steal: bool) -> Option<u32> {
        if !store.may_make_rings() {
            return None;
        }
        let page = self.take_page(store, cpu, steal)?;
        let Some(mut ids) = store.make_rings(page) else {
            self.shelve(store, own, page);
            return None;
        };
        self.leave(store);
        let first = ids.next();
        // The lowest ids are taken first.
        ids.rev().for_each(|id| self.shelve_ring(store, own, id));
        first
    }

    fn take_free_ring(&self, store: &impl Store, own: usize) -> Option<u32> {
        let rings = |n: usize| &store.shelves()[n].rings;
        self.has_rings.take(own, rings, |i| store.ring_link(i))
    }

    /// Takes over a ring whose task has ended, after [`Ring::retire`].
    pub(crate) fn retire(&self, store: &impl Store, cpu: u32, id: u32) {
        let own = Self::number(store, cpu);
        let shelves = store.shelves();
        shelves[own].live.fetch_sub(1, Relaxed);
        let Some(ring) = store.ring(id) else {
            return;
        };
        if ring.pages() == 0 {
            self.release(store, own, ring);
            return self.shelve_ring(store, own, id);
        }
        let ended = ring.ended();
        let push = |n: &usize| (shelves[*n].retired).push(Self::cells(store, *n), id, ended);
        let n = (own..shelves.len()).chain(0..own).find(push);
        if n.is_none() {
            shelves[own].retired.push_late(store, id, ended);
        }
        self.has_retired.set(n.unwrap_or(own));
    }

    /// The cells of a shelf's queue.
    fn cells(store: &impl Store, n: usize) -> &[super::Cell] {
        let cells = store.cells();
        let each = cells.len() / shelf_count(store) as usize;
        &cells[n * each..(n + 1) * each]
    }

    /// Takes the oldest page of the ring that retired first.
    pub(super) fn take_retired_page(&self, store: &impl Store, cpu: u32) -> Option<u32> {
        let own = Self::number(store, cpu);
        let pages = self.pages(store, cpu, false);
        for _ in 0..BATCH {
            let (n, id) = self.take_retired(store, own)?;
            let ring = store.ring(id)?;
            // SAFETY: The ring was taken out of the retired ones, so it is ours alone; and it has
            // its pages from the store's pool.
            let page = unsafe { ring.steal_last(&pages) };
            // Where a thief is just taking a page, the ring seems to have one more than it has; the
            // next one who comes for it finds out.
            if page.is_none() || ring.pages() == 0 {
                self.release(store, own, ring);
                self.shelve_ring(store, own, id);
            } else {
                self.put_back(store, n, id);
            }
            if page.is_some() {
                return page;
            }
        }
        None
    }

    /// Gives up all retired rings: their pages become free. Returns how many there were. Takes as
    /// long as it takes: process context.
    pub(crate) fn drain_retired(&self, store: &impl Store) -> u32 {
        let mut rings = 0;
        while let Some((n, id)) = self.take_retired(store, 0) {
            self.drain(store, n as u32, id, u32::MAX);
            self.shelve_ring(store, n, id);
            rings += 1;
        }
        rings
    }

    /// Takes the oldest retired ring, about, and says on which shelf that was.
    fn take_retired(&self, store: &impl Store, own: usize) -> Option<(usize, u32)> {
        let shelves = store.shelves();
        let take = |n: usize| {
            let id = shelves[n].retired.take(store, Self::cells(store, n))?;
            Some((n, id))
        };
        for _ in 0..LOOKS {
            if self.has_retired.is_clear() {
                return None;
            }
            let (n, until) = Self::source(store, own);
            let Some((n, id)) = take(n) else {
                break;
            };
            let ended = store.ring(id).map_or(0, Ring::ended);
            shelves[n].retired.set_oldest(ended);
            if ended <= until {
                return Some((n, id));
            }
            // It is younger than the shelf's last one was: those of another one are older.
            self.put_back(store, n, id);
        }
        take(own).or_else(|| {
            self.has_retired.others(own).find_map(|n| {
                let found = take(n);
                if found.is_none() {
                    (self.has_retired).clear(n, || shelves[n].retired.len() != 0);
                }
                found
            })
        })
    }

    /// The shelf whose retired rings go first for who is on this one, and until when their tasks
    /// must have ended: its own, unless others have older ones by more than an eighth of the time
    /// of which there are any. As that means to look at all shelves, it holds for a while.
    fn source(store: &impl Store, own: usize) -> (usize, u64) {
        let (shelf, shelves) = (&store.shelves()[own], store.shelves());
        if let Some(times) = shelf.times.load(Relaxed).checked_sub(1) {
            shelf.times.store(times, Relaxed);
            return (shelf.source.load(Relaxed) as usize, u64::MAX);
        }
        let spans = || shelves.iter().filter_map(|shelf| shelf.retired.span());
        let first = spans().map(|(first, _)| first).min().unwrap_or(0);
        let last = spans().map(|(_, last)| last).max().unwrap_or(0);
        let until = first + last.saturating_sub(first) / 8;
        let is_old = |n: &usize| {
            let span = shelves[*n].retired.span();
            span.is_some_and(|(first, _)| first <= until)
        };
        let n = (own..shelves.len()).chain(0..own).find(is_old);
        let n = n.unwrap_or(own);
        shelf.source.store(n as u32, Relaxed);
        let times = match shelves.len() {
            ..MANY => shelves[n].retired.len() / 8,
            many => many as u32,
        };
        shelf.times.store(times, Relaxed);
        (n, until)
    }

    /// Gives a retired ring back that still has pages: it goes first next time.
    fn put_back(&self, store: &impl Store, n: usize, id: u32) {
        let ended = store.ring(id).map_or(0, Ring::ended);
        store.shelves()[n].retired.put_back(store, id, ended);
        self.has_retired.set(n);
    }

    /// Gives up to `most` pages of a retired ring, which the caller has taken out of the retired
    /// ones and keeps. True: it had no more, and its life has ended.
    fn drain(&self, store: &impl Store, cpu: u32, id: u32, most: u32) -> bool {
        let pages = self.pages(store, cpu, false);
        let Some(ring) = store.ring(id) else {
            return false;
        };
        for _ in 0..most {
            // SAFETY: The ring is the caller's alone, with pages from the store's pool.
            let Some(page) = (unsafe { ring.steal_last(&pages) }) else {
                self.release(store, Self::number(store, cpu), ring);
                return true;
            };
            // SAFETY: The ring has just given it up.
            unsafe { pages.put(page) };
        }
        false
    }

    /// Ends the life of a retired ring without pages, which stays the caller's.
    fn release(&self, store: &impl Store, own: usize, ring: &Ring) {
        // SAFETY: The caller has taken the ring out of the retired ones and used up its pages.
        let (records, lost) = unsafe { ring.release(store.empty()) };
        store.shelves()[own].gone.add(records, lost);
    }
}
