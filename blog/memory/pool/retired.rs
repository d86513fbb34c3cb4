// SPDX-License-Identifier: GPL-2.0

//! Rings that nobody writes to: free ones, and those whose task has ended, oldest first.
//!
//! Needs nothing but `core` and `ring.rs`, and compiles on the host unchanged. Any context, NMI
//! included.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    AtomicU8,
    Ordering::{
        Acquire,
        Relaxed,
        Release, //
    }, //
};
use kernel::blog::{
    ring::{
        Pages,
        Ring, //
    },
    wire::record::LOST_CAUSES, //
};

use super::{
    queue::Queue,
    stack::Stack,
    Store,
    NONE, //
};

/// The link of a free ring that somebody has taken out of all lists.
const HELD: u32 = NONE - 1;

/// How many pages of a retired ring go in one operation, and how many empty ones it passes over:
/// time in an NMI is bounded.
const BATCH: u32 = 64;

/// Free rings and retired rings of one component.
///
/// # Invariants
///
/// A ring is live, or in `free`, or in exactly one of `victim`, `passed_over`, `queue` and `late`,
/// or somebody holds its id.
pub(crate) struct Rings {
    free: Stack,
    free_count: AtomicU32,
    taken: AtomicU64,
    live: AtomicU32,
    /// Whether a retired ring may be taken as a free one before all its pages are used up.
    recycling: AtomicU8,
    queue: Queue,
    /// Retired rings that were put back while `victim` was taken: older than those in `queue`.
    passed_over: Stack,
    /// Retired rings for which `queue` had no room: newer than those in it.
    late: Stack,
    /// The retired ring whose pages are being used up.
    victim: AtomicU32,
    retired: AtomicU32,
    gone_records: AtomicU64,
    gone_lost: [AtomicU64; LOST_CAUSES],
}

impl Rings {
    /// Makes it without any ring.
    pub(crate) const fn new() -> Self {
        Self {
            free: Stack::new(),
            free_count: AtomicU32::new(0),
            taken: AtomicU64::new(0),
            recycling: AtomicU8::new(1),
            live: AtomicU32::new(0),
            queue: Queue::new(),
            passed_over: Stack::new(),
            late: Stack::new(),
            victim: AtomicU32::new(NONE),
            retired: AtomicU32::new(0),
            gone_records: AtomicU64::new(0),
            gone_lost: [const { AtomicU64::new(0) }; LOST_CAUSES],
        }
    }

    /// Free rings; a moment old.
    pub(crate) fn free(&self) -> u32 {
        self.free_count.load(Relaxed)
    }

    /// Rings that were taken or wanted, in all.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    /// Sets whether a new task may have the ring of one that has ended, with the loss of all that
    /// it holds, where there is no free one. It may, unless somebody says that more rings will
    /// come.
    pub(crate) fn set_recycling(&self, on: bool) {
        self.recycling.store(u8::from(on), Relaxed);
    }

    /// Rings that were taken and have not retired; a moment old.
    pub(crate) fn live(&self) -> u32 {
        self.live.load(Relaxed)
    }

    /// Retired rings; a moment old.
    pub(crate) fn retired(&self) -> u32 {
        self.retired.load(Relaxed)
    }

    /// Records of rings that were given to another task, in all.
    pub(crate) fn gone_records(&self) -> u64 {
        self.gone_records.load(Relaxed)
    }

    /// Where [`Self::gone_records`] and [`Self::gone_lost`] are counted.
    pub(crate) fn gone(&self) -> (&AtomicU64, &[AtomicU64; LOST_CAUSES]) {
        (&self.gone_records, &self.gone_lost)
    }

    /// Losses of rings that were given to another task, by cause.
    pub(crate) fn gone_lost(&self) -> [u64; LOST_CAUSES] {
        self.gone_lost.each_ref().map(|n| n.load(Relaxed))
    }

    /// Adds a ring to the free ones.
    pub(crate) fn put(&self, store: &impl Store, id: u32) {
        self.free_count.fetch_add(1, Relaxed);
        self.free.push(|i| store.ring_link(i), id);
    }

    /// Takes out all free rings, and marks them as held; returns how many.
    pub(super) fn hold_free(&self, store: &impl Store) -> u32 {
        let mut held = 0;
        while let Some(id) = self.free.pop(|i| store.ring_link(i)) {
            self.free_count.fetch_sub(1, Relaxed);
            if let Some(link) = store.ring_link(id) {
                link.store(HELD, Relaxed);
            }
            held += 1;
        }
        held
    }

    /// Whether a ring is held. Only its holder asks.
    pub(crate) fn is_held(store: &impl Store, id: u32) -> bool {
        store
            .ring_link(id)
            .is_some_and(|link| link.load(Relaxed) == HELD)
    }

    /// Takes a free ring; where there is none, the one that retired first, whose pages go to
    /// `pages`. One that holds a lot is only made shorter.
    pub(crate) fn take(&self, store: &impl Store, pages: &impl Pages) -> Option<u32> {
        let id = match self.free.pop(|i| store.ring_link(i)) {
            Some(id) => {
                self.free_count.fetch_sub(1, Relaxed);
                id
            }
            None if self.recycling.load(Relaxed) == 0 => {
                // Nobody gets it, but it was wanted: more are to come.
                self.taken.fetch_add(1, Relaxed);
                return None;
            }
            None => {
                let id = self.take_retired(store)?;
                let ring = store.ring(id)?;
                if !self.drain(store, pages, ring, BATCH) {
                    self.put_back(store, id);
                    return None;
                }
                id
            }
        };
        self.taken.fetch_add(1, Relaxed);
        self.live.fetch_add(1, Relaxed);
        Some(id)
    }

    /// Takes over a ring whose task has ended, after [`Ring::retire`].
    pub(crate) fn retire(&self, store: &impl Store, id: u32) {
        self.live.fetch_sub(1, Relaxed);
        let Some(ring) = store.ring(id) else {
            return;
        };
        if ring.pages() == 0 {
            self.recycle(store, id, ring);
            return;
        }
        self.retired.fetch_add(1, Relaxed);
        if !self.queue.push(store.cells(), id) {
            self.late.push(|i| store.ring_link(i), id);
        }
    }

    /// Takes the oldest page of the ring that retired first.
    pub(crate) fn take_page(&self, store: &impl Store, pages: &impl Pages) -> Option<u32> {
        for _ in 0..BATCH {
            let id = self.take_retired(store)?;
            let ring = store.ring(id)?;
            // SAFETY: The ring was taken out of the retired ones, so it is ours alone; and it has
            // its pages from the store's pool.
            let page = unsafe { ring.steal_last(pages) };
            // Where a thief is just taking a page, the ring seems to have one more than it has; the
            // next one who comes for it finds out.
            if page.is_none() || ring.pages() == 0 {
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

    /// Gives up all retired rings: their pages become free. Returns how many there were. Takes as
    /// long as it takes: process context.
    pub(super) fn drain_all(&self, store: &impl Store, pages: &impl Pages) -> u32 {
        let mut rings = 0;
        while let Some(id) = self.take_retired(store) {
            if let Some(ring) = store.ring(id) {
                self.drain(store, pages, ring, u32::MAX);
                self.put(store, id);
            }
            rings += 1;
        }
        rings
    }

    /// Takes a retired ring, the oldest as far as that can be had without waiting.
    fn take_retired(&self, store: &impl Store) -> Option<u32> {
        // ORDERING: Acquire pairs with the release in `put_back`: what was done to the ring is
        // visible.
        let mut id = self.victim.swap(NONE, Acquire);
        if id == NONE {
            id = self
                .passed_over
                .pop(|i| store.ring_link(i))
                .or_else(|| self.queue.pop(store.cells()))
                .or_else(|| self.late.pop(|i| store.ring_link(i)))?;
        }
        self.retired.fetch_sub(1, Relaxed);
        Some(id)
    }

    /// Gives a retired ring back that still has pages: it goes first next time.
    fn put_back(&self, store: &impl Store, id: u32) {
        self.retired.fetch_add(1, Relaxed);
        // ORDERING: Release: see `take_retired`.
        if self
            .victim
            .compare_exchange(NONE, id, Release, Relaxed)
            .is_err()
        {
            self.passed_over.push(|i| store.ring_link(i), id);
        }
    }

    /// Gives up to `most` pages of a retired ring, which the caller has taken out of the retired
    /// ones and keeps, to `pages`. True: it had no more, and its life has ended.
    fn drain(&self, store: &impl Store, pages: &impl Pages, ring: &Ring, most: u32) -> bool {
        for _ in 0..most {
            // SAFETY: The ring is the caller's alone, with pages from the store's pool.
            let Some(page) = (unsafe { ring.steal_last(pages) }) else {
                self.release(store, ring);
                return true;
            };
            // SAFETY: The ring has just given it up.
            unsafe { pages.put(page) };
        }
        false
    }

    /// Makes a retired ring without pages a free one.
    fn recycle(&self, store: &impl Store, id: u32, ring: &Ring) {
        self.release(store, ring);
        self.put(store, id);
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
}
