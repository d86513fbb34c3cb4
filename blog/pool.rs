// SPDX-License-Identifier: GPL-2.0

//! The pool behind a component's rings: free pages, free rings, and rings whose task has ended.
//!
//! Called from the slow path of a log call, in any context up to NMI, so nothing here locks,
//! waits, or calls the kernel: all of it is compare-and-swap on indices into arrays that stay
//! where they are as long as the pool. This file needs nothing but `core`, `record.rs` and
//! `ring.rs`, and compiles on the host unchanged.
//!
//! Levels, in the order in which [`Pool::take_page`] tries them:
//!
//! 1. the depot, a stack of free pages. The last [`Pool::reserve`] pages in it are for rings that
//!    have none yet, so that a few busy rings can't keep newcomers silent;
//! 2. retired rings, the one that ended first before the others, its oldest page first.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::{
        Acquire,
        Relaxed,
        Release, //
    }, //
};
use kernel::blog::{
    record::LOST_CAUSES,
    ring::{
        PageHeader,
        Pages,
        Ring, //
    }, //
};

/// No index: the end of a list.
const NONE: u32 = u32::MAX;

/// How often an operation tries again before it gives up. A try fails only because another
/// operation has succeeded, so the bound is reached only under absurd contention; it keeps the
/// time in an NMI bounded.
const TRIES: u32 = 1000;

/// A lock-free stack of indices (Treiber's), safe against ABA.
///
/// # Invariants
///
/// - The low half of `head` is the top index, or [`NONE`]; the high half grows with each push.
/// - An index is in one stack (or other list) at a time; `next[index]` is the one below it.
pub(crate) struct Stack {
    head: AtomicU64,
}

impl Stack {
    /// Makes an empty stack.
    pub(crate) const fn new() -> Self {
        Self {
            head: AtomicU64::new(NONE as u64),
        }
    }

    /// Puts `index` on top. Indices that `next` doesn't have are dropped.
    pub(crate) fn push(&self, next: &[AtomicU32], index: u32) {
        self.push_by(|index| next.get(index as usize), index);
    }

    /// As [`Self::push`], for links that are not in one slice.
    pub(crate) fn push_by<'a>(&self, next: impl Fn(u32) -> Option<&'a AtomicU32>, index: u32) {
        let Some(link) = next(index) else {
            return;
        };
        let mut head = self.head.load(Relaxed);
        loop {
            link.store(head as u32, Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(index);
            // ORDERING: Release publishes the link, and all that the caller did to what the index
            // names, to the `pop` that takes it.
            match self.head.compare_exchange_weak(head, new, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes the top index.
    pub(crate) fn pop(&self, next: &[AtomicU32]) -> Option<u32> {
        self.pop_by(|index| next.get(index as usize))
    }

    /// As [`Self::pop`], for links that are not in one slice.
    pub(crate) fn pop_by<'a>(&self, next: impl Fn(u32) -> Option<&'a AtomicU32>) -> Option<u32> {
        // ORDERING: Acquire, here and when the exchange fails, makes the link of the top index
        // visible. The link may be stale when the index has been taken meanwhile. If it is on top
        // again, then it was pushed again, so the high half of `head` has changed and the exchange
        // fails.
        let mut head = self.head.load(Acquire);
        for _ in 0..TRIES {
            let below = next(head as u32)?.load(Relaxed);
            let new = head >> 32 << 32 | u64::from(below);
            match self.head.compare_exchange_weak(head, new, Acquire, Acquire) {
                Ok(_) => return Some(head as u32),
                Err(now) => head = now,
            }
        }
        None
    }
}

/// A cell of a [`Queue`].
pub(crate) struct Cell {
    turn: AtomicU32,
    index: AtomicU32,
}

impl Cell {
    /// Makes the cell at `position` of an empty queue.
    pub(crate) const fn new(position: u32) -> Self {
        Self {
            turn: AtomicU32::new(position),
            index: AtomicU32::new(NONE),
        }
    }
}

/// A bounded first-in first-out queue of indices (Vyukov's), for many writers and readers.
///
/// Not blocking in the sense that matters here: an operation that is interrupted in its middle
/// makes others fail, never wait. Behind a stuck push the queue looks empty, behind a stuck pop
/// full, until it goes on.
///
/// # Invariants
///
/// - The number of cells is a power of two, and not 1.
/// - `cells[p % n].turn` is `p` when the cell waits for the push at position `p`, and `p + 1` when
///   it waits for the pop at position `p`.
pub(crate) struct Queue {
    head: AtomicU32,
    tail: AtomicU32,
}

impl Queue {
    /// Makes an empty queue.
    pub(crate) const fn new() -> Self {
        Self {
            head: AtomicU32::new(0),
            tail: AtomicU32::new(0),
        }
    }

    fn cell(cells: &[Cell], position: u32) -> Option<&Cell> {
        let mask = (cells.len() as u32).checked_sub(1)?;
        cells.get((position & mask) as usize)
    }

    /// Puts `index` behind the others. False: it is full, or a pop is stuck in its middle.
    pub(crate) fn push(&self, cells: &[Cell], index: u32) -> bool {
        let mut tail = self.tail.load(Relaxed);
        for _ in 0..TRIES {
            let Some(cell) = Self::cell(cells, tail) else {
                return false;
            };
            // ORDERING: Acquire pairs with the release in `pop`, which gives the cell back.
            match cell.turn.load(Acquire).wrapping_sub(tail) as i32 {
                0 => match self.tail.compare_exchange_weak(
                    tail,
                    tail.wrapping_add(1),
                    Relaxed,
                    Relaxed,
                ) {
                    Ok(_) => {
                        cell.index.store(index, Relaxed);
                        // ORDERING: Release publishes the index, and all that the caller did to
                        // what it names, to the `pop` that takes it.
                        cell.turn.store(tail.wrapping_add(1), Release);
                        return true;
                    }
                    Err(now) => tail = now,
                },
                behind if behind < 0 => return false,
                _ => tail = self.tail.load(Relaxed),
            }
        }
        false
    }

    /// Takes the oldest index.
    pub(crate) fn pop(&self, cells: &[Cell]) -> Option<u32> {
        let mut head = self.head.load(Relaxed);
        for _ in 0..TRIES {
            let cell = Self::cell(cells, head)?;
            // ORDERING: Acquire pairs with the release in `push`.
            match cell.turn.load(Acquire).wrapping_sub(head.wrapping_add(1)) as i32 {
                0 => match self.head.compare_exchange_weak(
                    head,
                    head.wrapping_add(1),
                    Relaxed,
                    Relaxed,
                ) {
                    Ok(_) => {
                        let index = cell.index.load(Relaxed);
                        // ORDERING: Release gives the cell, with its index read, to the push of
                        // the next round.
                        cell.turn
                            .store(head.wrapping_add(cells.len() as u32), Release);
                        return Some(index);
                    }
                    Err(now) => head = now,
                },
                behind if behind < 0 => return None,
                _ => head = self.head.load(Relaxed),
            }
        }
        None
    }
}

/// What a [`Pool`] works on. It may grow; what is there stays where it is as long as the pool.
pub(crate) trait Store {
    /// The link of the page with this index. It stays where it is as long as the pool.
    fn page_link(&self, index: u32) -> Option<&AtomicU32>;
    /// The link of the ring with this id. It stays where it is as long as the pool.
    fn ring_link(&self, id: u32) -> Option<&AtomicU32>;
    /// Cells for the queue of retired rings: a power of two, better twice as many as rings. Those
    /// that retire when all are in use lose their place in the order.
    fn cells(&self) -> &[Cell];
    /// The page with this index, which [`Pool::put_page`] has been given.
    fn page(&self, index: u32) -> *mut PageHeader;
    /// The ring with this id.
    fn ring(&self, id: u32) -> Option<&Ring>;
    /// The size of a page in bytes.
    fn page_size(&self) -> u32;
    /// A header for rings without pages: [`PageHeader::empty`].
    fn empty(&self) -> *mut PageHeader;
}

/// Free pages, free rings and retired rings of one component.
///
/// # Invariants
///
/// - A ring is live, or in `rings`, or in exactly one of `victim`, `passed_over`, `retired` and
///   `late`, or somebody holds its id.
/// - A page is in a ring's chain or in `depot`, or somebody holds its index.
pub(crate) struct Pool {
    depot: Stack,
    free: AtomicU32,
    reserve: AtomicU32,
    rings: Stack,
    retired: Queue,
    /// Retired rings that were put back while `victim` was taken: older than those in `retired`.
    passed_over: Stack,
    /// Retired rings for which `retired` had no room: newer than those in it.
    late: Stack,
    /// The retired ring whose pages are being used up.
    victim: AtomicU32,
    retired_count: AtomicU32,
    gone_records: AtomicU64,
    gone_lost: [AtomicU64; LOST_CAUSES],
}

impl Pool {
    /// Makes a pool with nothing in it.
    pub(crate) const fn new() -> Self {
        Self {
            depot: Stack::new(),
            free: AtomicU32::new(0),
            reserve: AtomicU32::new(0),
            rings: Stack::new(),
            retired: Queue::new(),
            passed_over: Stack::new(),
            late: Stack::new(),
            victim: AtomicU32::new(NONE),
            retired_count: AtomicU32::new(0),
            gone_records: AtomicU64::new(0),
            gone_lost: [const { AtomicU64::new(0) }; LOST_CAUSES],
        }
    }

    /// Pages in the depot; a moment old.
    pub(crate) fn free(&self) -> u32 {
        self.free.load(Relaxed)
    }

    /// Retired rings; a moment old.
    pub(crate) fn retired(&self) -> u32 {
        self.retired_count.load(Relaxed)
    }

    /// Records of rings that were given to another task, in all.
    pub(crate) fn gone_records(&self) -> u64 {
        self.gone_records.load(Relaxed)
    }

    /// Losses of rings that were given to another task, by cause.
    pub(crate) fn gone_lost(&self) -> [u64; LOST_CAUSES] {
        self.gone_lost.each_ref().map(|n| n.load(Relaxed))
    }

    /// Keeps the last `pages` pages of the depot for rings that have none.
    pub(crate) fn set_reserve(&self, pages: u32) {
        self.reserve.store(pages, Relaxed);
    }

    /// Gives a page, which is in no ring, to the depot.
    pub(crate) fn put_page(&self, store: &impl Store, index: u32) {
        // Counted before it can be taken, so that the count never falls below zero.
        self.free.fetch_add(1, Relaxed);
        self.depot.push_by(|i| store.page_link(i), index);
    }

    /// Takes a page out of the depot, without regard to the reserve.
    pub(crate) fn take_free_page(&self, store: &impl Store) -> Option<u32> {
        let index = self.depot.pop_by(|i| store.page_link(i))?;
        self.free.fetch_sub(1, Relaxed);
        Some(index)
    }

    /// Takes a page for a ring that holds `held`.
    pub(crate) fn take_page(&self, store: &impl Store, held: u32) -> Option<u32> {
        if held == 0 || self.free() > self.reserve.load(Relaxed) {
            if let Some(index) = self.take_free_page(store) {
                return Some(index);
            }
        }
        self.take_retired_page(store)
    }

    /// Takes the oldest page of the ring that retired first.
    fn take_retired_page(&self, store: &impl Store) -> Option<u32> {
        for _ in 0..TRIES {
            let id = self.take_retired(store)?;
            let ring = store.ring(id)?;
            // SAFETY: The ring was taken out of the retired ones, so it is ours alone.
            let page = unsafe { ring.steal_last(&PagesOf(self, store)) };
            if ring.pages() == 0 {
                self.recycle(store, id, ring);
            } else {
                self.put_back(store, id);
            }
            if page.is_some() {
                return page;
            }
        }
        None
    }

    /// Takes a retired ring, the oldest as far as that can be had without waiting.
    fn take_retired(&self, store: &impl Store) -> Option<u32> {
        // ORDERING: Acquire pairs with the release in `put_back`: what was done to the ring is
        // visible.
        let mut id = self.victim.swap(NONE, Acquire);
        if id == NONE {
            id = self
                .passed_over
                .pop_by(|i| store.ring_link(i))
                .or_else(|| self.retired.pop(store.cells()))
                .or_else(|| self.late.pop_by(|i| store.ring_link(i)))?;
        }
        self.retired_count.fetch_sub(1, Relaxed);
        Some(id)
    }

    /// Gives a retired ring back that still has pages: it goes first next time.
    fn put_back(&self, store: &impl Store, id: u32) {
        self.retired_count.fetch_add(1, Relaxed);
        // ORDERING: Release: see `take_retired`.
        if self
            .victim
            .compare_exchange(NONE, id, Release, Relaxed)
            .is_err()
        {
            self.passed_over.push_by(|i| store.ring_link(i), id);
        }
    }

    /// Makes a retired ring without pages a free one.
    fn recycle(&self, store: &impl Store, id: u32, ring: &Ring) {
        self.release(store, ring);
        self.rings.push_by(|i| store.ring_link(i), id);
    }

    /// Ends the life of a retired ring without pages, which stays the caller's.
    fn release(&self, store: &impl Store, ring: &Ring) {
        // SAFETY: The caller has taken the ring out of the retired ones and used up its pages.
        let (records, lost) = unsafe { ring.release(store.empty()) };
        self.gone_records.fetch_add(records, Relaxed);
        for (gone, lost) in self.gone_lost.iter().zip(lost) {
            gone.fetch_add(lost, Relaxed);
        }
    }

    /// Adds a ring to the free ones.
    pub(crate) fn put_ring(&self, store: &impl Store, id: u32) {
        self.rings.push_by(|i| store.ring_link(i), id);
    }

    /// Takes a free ring; where there is none, the one that retired first, whose pages go to the
    /// depot.
    pub(crate) fn take_ring(&self, store: &impl Store) -> Option<u32> {
        self.rings.pop_by(|i| store.ring_link(i)).or_else(|| {
            let id = self.take_retired(store)?;
            self.drain(store, store.ring(id)?);
            Some(id)
        })
    }

    /// Gives up a retired ring, which the caller has taken out of the retired ones and keeps: its
    /// pages go to the depot.
    fn drain(&self, store: &impl Store, ring: &Ring) {
        // SAFETY: The ring is the caller's alone.
        while let Some(page) = unsafe { ring.steal_last(&PagesOf(self, store)) } {
            self.put_page(store, page);
        }
        self.release(store, ring);
    }

    /// Takes over a ring whose task has ended, after [`Ring::retire`].
    pub(crate) fn retire(&self, store: &impl Store, id: u32) {
        let Some(ring) = store.ring(id) else {
            return;
        };
        if ring.pages() == 0 {
            self.recycle(store, id, ring);
            return;
        }
        self.retired_count.fetch_add(1, Relaxed);
        if !self.retired.push(store.cells(), id) {
            self.late.push_by(|i| store.ring_link(i), id);
        }
    }

    /// Gives up all retired rings: their pages become free. Returns how many there were.
    pub(crate) fn drain_retired(&self, store: &impl Store) -> u32 {
        let mut rings = 0;
        while let Some(id) = self.take_retired(store) {
            if let Some(ring) = store.ring(id) {
                self.drain(store, ring);
                self.put_ring(store, id);
            }
            rings += 1;
        }
        rings
    }
}

/// A pool and its store, as a ring sees them.
pub(crate) struct PagesOf<'a, S: Store>(pub(crate) &'a Pool, pub(crate) &'a S);

impl<S: Store> Pages for PagesOf<'_, S> {
    fn take(&self, held: u32, room: u32, most: u32) -> Option<u32> {
        let size = self.largest();
        if room > size || most < size {
            return None;
        }
        self.0.take_page(self.1, held)
    }

    fn put(&self, index: u32) {
        self.0.put_page(self.1, index);
    }

    fn page(&self, index: u32) -> *mut PageHeader {
        self.1.page(index)
    }

    fn largest(&self) -> u32 {
        self.1.page_size()
    }
}
