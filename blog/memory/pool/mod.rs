// SPDX-License-Identifier: GPL-2.0

//! The pool behind a component's rings: the levels of memory that a log call can reach.
//!
//! Called from the slow path of a log call, in any context up to NMI, so nothing here locks,
//! waits, or calls the kernel: all of it is compare-and-swap on indices of slots that stay where
//! they are as long as the pool, and each loop is bounded. An operation that is interrupted
//! anywhere holds what it has taken in its hand, and goes on with it; meanwhile others go on
//! without. This folder needs nothing but `core`, `record.rs` and `ring.rs`, and compiles on the
//! host unchanged.
//!
//! | file | level |
//! |---|---|
//! | `slab.rs` | chunks of split pages: for a ring's first page |
//! | `magazine.rs` | free pages that this CPU has at hand |
//! | `depot.rs` | free pages of the component, in batches |
//! | `retired.rs` | rings of tasks that have ended, the oldest page first |
//! | `share.rs` | live rings that hold more than their share |
//! | `slot.rs` | what all of that is about: the place of a page, whole or split |
//! | `stack.rs`, `queue.rs` | what it is built of |
//!
//! Pages come from the kernel, and go back to it, in `growth.rs` and `shrink.rs`.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::Relaxed, //
};
use kernel::blog::{
    ring::{
        PageHeader,
        Pages,
        Ring, //
    },
    wire::record::LOST_CAUSES, //
};

mod depot;
mod magazine;
mod queue;
mod retired;
mod share;
mod slab;
mod slot;
pub(crate) mod stack;

pub(crate) use self::{
    depot::Batch,
    magazine::{
        Magazine,
        ROUNDS, //
    },
    queue::Cell,
    slot::{
        Index,
        Sizes,
        Slot, //
    }, //
};
use self::{
    depot::Depot,
    retired::Rings,
    share::Shares,
    slab::Slab, //
};
#[cfg(test)]
pub(crate) use self::{
    queue::Queue,
    stack::Stack, //
};

/// No index: the end of a list.
const NONE: u32 = u32::MAX;

/// How often an operation tries again before it gives up. A try fails only because another
/// operation has succeeded, so the bound is reached only under absurd contention; it keeps the
/// time in an NMI bounded.
const TRIES: u32 = 1000;

/// How many chunks of retired rings are given up in the hope that they make a page.
const PIECES: u32 = 64;

/// One of how many pages is kept for rings that have none, and one of how many may be in all
/// magazines together.
const PART: u32 = 8;

/// What a [`Pool`] works on. It may grow; what is there stays where it is as long as the pool.
pub(crate) trait Store {
    /// Sizes of pages and chunks; constant.
    fn sizes(&self) -> Sizes;
    /// The slot with this number.
    fn slot(&self, page: u32) -> Option<&Slot>;
    /// The magazines; where there are fewer than CPUs, some share one.
    fn magazines(&self) -> &[Magazine];
    /// The link of the ring with this id.
    fn ring_link(&self, id: u32) -> Option<&AtomicU32>;
    /// Cells for the queue of retired rings: a power of two, better twice as many as rings. Those
    /// that retire when all are in use lose their place in the order.
    fn cells(&self) -> &[Cell];
    /// The ring with this id.
    fn ring(&self, id: u32) -> Option<&Ring>;
    /// Number of rings; their ids are below this.
    fn rings(&self) -> u32;
    /// A header for rings without pages, and where there is no page: [`PageHeader::empty`].
    fn empty(&self) -> *mut PageHeader;
}

/// How often each level has served a ring, and what it has now; a moment old.
#[derive(Clone, Copy, Default)]
pub(crate) struct Levels {
    /// Chunks taken out of the slab.
    pub(crate) chunk_hits: u64,
    /// Pages taken out of a CPU's own magazine.
    pub(crate) magazine_hits: u64,
    /// Pages taken out of the depot.
    pub(crate) depot_hits: u64,
    /// Pages taken out of another CPU's magazine.
    pub(crate) other_hits: u64,
    /// Pages or chunks of tasks that have ended.
    pub(crate) retired_hits: u64,
    /// Pages or chunks of live rings.
    pub(crate) stolen: u64,
    /// Requests that no level could serve.
    pub(crate) dry: u64,
    /// Free chunks.
    pub(crate) chunks_free: u32,
    /// Pages that are split into chunks.
    pub(crate) pages_split: u32,
    /// Pages in magazines.
    pub(crate) pages_magazines: u32,
    /// Pages in the depot.
    pub(crate) pages_depot: u32,
}

/// Counters of [`Levels`].
struct Counters {
    chunk: AtomicU64,
    depot: AtomicU64,
    other: AtomicU64,
    retired: AtomicU64,
    stolen: AtomicU64,
    dry: AtomicU64,
}

fn count(n: &AtomicU64) {
    n.fetch_add(1, Relaxed);
}

/// What a ring asks for.
#[derive(Clone, Copy)]
struct Request {
    /// Bytes that it holds.
    held: u32,
    /// CPU whose magazine is near.
    cpu: u32,
    /// Whether other live rings may be made to give up pages for it.
    steal: bool,
    /// Whether a page would do.
    page: bool,
    /// Whether a chunk would do.
    chunk: bool,
}

impl Request {
    /// Whether a chunk is better than a page: a ring's first page is small.
    fn small(&self) -> bool {
        self.chunk && (self.held == 0 || !self.page)
    }
}

/// Free pages, free rings and retired rings of one component.
///
/// # Invariants
///
/// A page or chunk is in a ring's chain or in one of the levels, or somebody holds its index.
pub(crate) struct Pool {
    slab: Slab,
    depot: Depot,
    rings: Rings,
    shares: Shares,
    /// Pages in the depot that are for rings that hold nothing.
    reserve: AtomicU32,
    /// Most pages in a magazine, and so in a batch; 0: they are not used.
    rounds: AtomicU32,
    counters: Counters,
}

impl Pool {
    /// Makes a pool with nothing in it.
    pub(crate) const fn new() -> Self {
        Self {
            slab: Slab::new(),
            depot: Depot::new(),
            rings: Rings::new(),
            shares: Shares::new(),
            reserve: AtomicU32::new(0),
            rounds: AtomicU32::new(0),
            counters: Counters {
                chunk: AtomicU64::new(0),
                depot: AtomicU64::new(0),
                other: AtomicU64::new(0),
                retired: AtomicU64::new(0),
                stolen: AtomicU64::new(0),
                dry: AtomicU64::new(0),
            },
        }
    }

    /// Says that there are `pages` pages in all: what follows from that is set.
    pub(crate) fn set_pages(&self, store: &impl Store, pages: u32) {
        let magazines = (store.magazines().len() as u32).max(1);
        let rounds = (pages / PART / magazines).min(ROUNDS as u32);
        self.reserve.store(pages / PART, Relaxed);
        self.rounds.store(rounds, Relaxed);
        self.shares
            .set_bytes(pages.saturating_mul(store.sizes().page));
    }

    /// Keeps the last `pages` pages of the depot for rings that have none.
    pub(crate) fn set_reserve(&self, pages: u32) {
        self.reserve.store(pages, Relaxed);
    }

    /// What is behind fair shares.
    pub(crate) fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Pages that make a full batch.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.load(Relaxed)
    }

    /// Pages in the depot; a moment old.
    pub(crate) fn depot_pages(&self) -> u32 {
        self.depot.pages()
    }

    /// Free pages, in the depot and in magazines; a moment old.
    pub(crate) fn free(&self, store: &impl Store) -> u32 {
        let magazines = store.magazines().iter().map(Magazine::pages);
        self.depot.pages().saturating_add(magazines.sum())
    }

    /// Free rings; a moment old.
    pub(crate) fn rings_free(&self) -> u32 {
        self.rings.free()
    }

    /// A ring's fair share in bytes; a moment old.
    pub(crate) fn fair(&self) -> u32 {
        self.shares.fair(self.rings.live())
    }

    /// Rings that were taken or wanted, in all.
    pub(crate) fn rings_taken(&self) -> u64 {
        self.rings.taken()
    }

    /// Sets whether a new task may have the ring of one that has ended, with the loss of all that
    /// it holds, where there is no free one. It may, unless somebody says that more rings will
    /// come.
    pub(crate) fn set_recycling(&self, on: bool) {
        self.rings.set_recycling(on);
    }

    /// Retired rings; a moment old.
    pub(crate) fn retired(&self) -> u32 {
        self.rings.retired()
    }

    /// Records of rings that were given to another task, in all.
    pub(crate) fn gone_records(&self) -> u64 {
        self.rings.gone_records()
    }

    /// Where [`Self::gone_records`] and [`Self::gone_lost`] are counted.
    pub(crate) fn gone(&self) -> (&AtomicU64, &[AtomicU64; LOST_CAUSES]) {
        self.rings.gone()
    }

    /// Losses of rings that were given to another task, by cause.
    pub(crate) fn gone_lost(&self) -> [u64; LOST_CAUSES] {
        self.rings.gone_lost()
    }

    /// How often each level has served a ring, and what it has now.
    pub(crate) fn levels(&self, store: &impl Store) -> Levels {
        let hits = |m: &Magazine| u64::from(m.hits());
        Levels {
            chunk_hits: self.counters.chunk.load(Relaxed),
            magazine_hits: store.magazines().iter().map(hits).sum(),
            depot_hits: self.counters.depot.load(Relaxed),
            other_hits: self.counters.other.load(Relaxed),
            retired_hits: self.counters.retired.load(Relaxed),
            stolen: self.counters.stolen.load(Relaxed),
            dry: self.counters.dry.load(Relaxed),
            chunks_free: self.slab.free(),
            pages_split: self.slab.split(),
            pages_magazines: store.magazines().iter().map(Magazine::pages).sum(),
            pages_depot: self.depot.pages(),
        }
    }

    // Giving.

    /// Gives free pages, which are in no ring, to the depot.
    pub(crate) fn give(&self, store: &impl Store, batch: Batch) {
        self.depot.give(store, batch);
    }

    /// Gives a page to the depot.
    pub(crate) fn give_page(&self, store: &impl Store, page: u32) {
        let mut batch = Batch::EMPTY;
        batch.push(store, page);
        self.depot.give(store, batch);
    }

    /// The magazine that is near to a CPU.
    fn magazine(store: &impl Store, cpu: u32) -> Option<&Magazine> {
        let magazines = store.magazines();
        magazines.get((cpu as usize).checked_rem(magazines.len())?)
    }

    /// Gives a page to the magazine of a CPU; a full one is flushed.
    fn load_page(&self, store: &impl Store, cpu: u32, page: u32) {
        let Some(magazine) = Self::magazine(store, cpu) else {
            return self.give_page(store, page);
        };
        if magazine.give(self.rounds(), page) {
            return;
        }
        let mut batch = Batch::EMPTY;
        batch.push(store, page);
        while batch.len() < self.rounds() {
            let Some(page) = magazine.take() else {
                break;
            };
            batch.push(store, page);
        }
        self.depot.give(store, batch);
    }

    /// Gives a page or chunk, which is in no ring any more, to the level that it belongs to.
    pub(crate) fn put(&self, store: &impl Store, cpu: u32, index: u32) {
        let index = Index(index);
        match index.part() {
            None => self.load_page(store, cpu, index.slot()),
            Some(chunk) => {
                if let Some(page) = self.slab.put(store, index.slot(), chunk) {
                    self.load_page(store, cpu, page);
                }
            }
        }
    }

    // Taking.

    /// Takes a page or chunk, as `Pages::take` says.
    fn take(&self, store: &impl Store, request: Request) -> Option<u32> {
        let index = self.find(store, request);
        if index.is_none() {
            count(&self.counters.dry);
        }
        Some(index?.0)
    }

    fn find(&self, store: &impl Store, request: Request) -> Option<Index> {
        if !request.page && !request.chunk {
            return None;
        }
        let small = request.small();
        if small {
            if let Some(chunk) = self.take_chunk(store) {
                return Some(chunk);
            }
        }
        if let Some(index) = self.find_page(store, request) {
            return Some(index);
        }
        for _ in 0..PIECES {
            if !small && request.chunk && self.slab.free() >= PIECES {
                // There is room in small pieces: no need to give up so many more.
                break;
            }
            let pages = self.pages(store, request.cpu, false);
            let Some(index) = self.rings.take_page(store, &pages) else {
                break;
            };
            count(&self.counters.retired);
            if let Some(index) = self.suit(store, request, Index(index)) {
                return Some(index);
            }
        }
        if request.chunk {
            if let Some(chunk) = self.take_chunk(store) {
                return Some(chunk);
            }
        }
        if !request.steal {
            return None;
        }
        for _ in 0..PIECES {
            let pages = self.pages(store, request.cpu, false);
            let index =
                self.shares
                    .steal(store, &pages, self.rings.live(), request.held, !small)?;
            count(&self.counters.stolen);
            if let Some(index) = self.suit(store, request, Index(index)) {
                return Some(index);
            }
        }
        None
    }

    fn take_chunk(&self, store: &impl Store) -> Option<Index> {
        let chunk = self.slab.take(store)?;
        count(&self.counters.chunk);
        Some(chunk)
    }

    /// Finds a free page, and splits it where a chunk is wanted.
    fn find_page(&self, store: &impl Store, request: Request) -> Option<Index> {
        let page = self.take_page(store, request)?;
        if request.small() {
            return self.slab.split_page(store, page);
        }
        Some(Index::whole(page))
    }

    /// Makes what somebody gave up what is asked for; what doesn't suit goes to its level.
    fn suit(&self, store: &impl Store, request: Request, index: Index) -> Option<Index> {
        match (index.part(), request.small()) {
            (None, false) | (Some(_), true) => Some(index),
            (None, true) => self.slab.split_page(store, index.slot()),
            (Some(chunk), false) => {
                // Perhaps it makes a page with others.
                let page = self.slab.put(store, index.slot(), chunk)?;
                Some(Index::whole(page))
            }
        }
    }

    /// Takes a free page.
    fn take_page(&self, store: &impl Store, request: Request) -> Option<u32> {
        let magazine = Self::magazine(store, request.cpu);
        if let Some(magazine) = magazine {
            if let Some(page) = magazine.take() {
                magazine.hit();
                return Some(page);
            }
        }
        let poor = request.held == 0;
        let spare = self.depot.pages() > self.reserve.load(Relaxed);
        if poor || spare {
            if let Some(mut batch) = self.depot.take(store) {
                let page = batch.pop(store);
                // What is in the reserve stays there: others on this CPU may hold enough.
                if let (Some(magazine), true) = (magazine, spare) {
                    self.fill(store, magazine, &mut batch);
                }
                self.depot.give(store, batch);
                count(&self.counters.depot);
                return page;
            }
        }
        if poor || self.shares.is_poor(store, self.rings.live(), request.held) {
            let page = store.magazines().iter().find_map(Magazine::take);
            if page.is_some() {
                count(&self.counters.other);
            }
            return page;
        }
        None
    }

    /// Fills a magazine from a batch.
    fn fill(&self, store: &impl Store, magazine: &Magazine, batch: &mut Batch) {
        while let Some(page) = batch.pop(store) {
            if !magazine.give(self.rounds(), page) {
                batch.push(store, page);
                break;
            }
        }
    }

    // For who gives pages back to the kernel, or looks after the pool. Process context.

    /// Takes a free page from wherever there is one.
    pub(crate) fn take_free(&self, store: &impl Store) -> Option<u32> {
        if let Some(mut batch) = self.depot.take(store) {
            let page = batch.pop(store);
            self.depot.give(store, batch);
            return page;
        }
        store.magazines().iter().find_map(Magazine::take)
    }

    /// As [`Self::take_free`], or from a ring whose task has ended.
    pub(crate) fn take_back(&self, store: &impl Store) -> Option<u32> {
        loop {
            if let Some(page) = self.take_free(store) {
                return Some(page);
            }
            let pages = self.pages(store, NONE, false);
            let index = self.rings.take_page(store, &pages)?;
            self.put(store, NONE, index);
        }
    }

    /// Empties the magazines into the depot.
    pub(crate) fn flush(&self, store: &impl Store) {
        for magazine in store.magazines() {
            let mut batch = Batch::EMPTY;
            for _ in 0..ROUNDS {
                let Some(page) = magazine.take() else {
                    break;
                };
                batch.push(store, page);
            }
            self.depot.give(store, batch);
        }
    }

    // Rings.

    /// Adds a ring to the free ones.
    pub(crate) fn put_ring(&self, store: &impl Store, id: u32) {
        self.rings.put(store, id);
    }

    /// Takes a free ring; where there is none, the one that retired first, whose pages become free.
    pub(crate) fn take_ring(&self, store: &impl Store) -> Option<u32> {
        self.rings.take(store, &self.pages(store, NONE, false))
    }

    /// Takes out all free rings, which are the caller's then; returns how many these are. Process
    /// context.
    pub(crate) fn hold_rings(&self, store: &impl Store) -> u32 {
        self.rings.hold_free(store)
    }

    /// Whether a ring is one that [`Self::hold_rings`] has taken out, and that was not put back.
    pub(crate) fn is_held(&self, store: &impl Store, id: u32) -> bool {
        Rings::is_held(store, id)
    }

    /// Takes over a ring whose task has ended, after [`Ring::retire`].
    pub(crate) fn retire(&self, store: &impl Store, id: u32) {
        self.rings.retire(store, id);
    }

    /// Gives up all retired rings: their pages become free. Returns how many there were. Process
    /// context.
    pub(crate) fn drain_retired(&self, store: &impl Store) -> u32 {
        self.rings.drain_all(store, &self.pages(store, NONE, false))
    }

    /// The pool as a ring sees it that is used on `cpu`; `steal`: whether other rings may be made
    /// to give up pages.
    pub(crate) fn pages<'a, S: Store>(
        &'a self,
        store: &'a S,
        cpu: u32,
        steal: bool,
    ) -> PagesOf<'a, S> {
        PagesOf {
            pool: self,
            store,
            cpu,
            steal,
            closed: false,
        }
    }
}

/// A pool and its store, as a ring sees them.
pub(crate) struct PagesOf<'a, S: Store> {
    pool: &'a Pool,
    store: &'a S,
    cpu: u32,
    steal: bool,
    closed: bool,
}

impl<S: Store> PagesOf<'_, S> {
    /// As before; but where `closed` is true, there is no page to be had.
    pub(crate) fn closed(self, closed: bool) -> Self {
        Self { closed, ..self }
    }
}

// SAFETY: The pool hands each index out once until it comes back, and its pages are formatted. A
// slot keeps its memory as long as there are rings; where it has none, the empty header stands for
// it.
unsafe impl<S: Store> Pages for PagesOf<'_, S> {
    fn take(&self, held: u32, room: u32, most: u32) -> Option<u32> {
        let sizes = self.store.sizes();
        if self.closed {
            return None;
        }
        let fits = |size: u32| size != 0 && room <= size && size <= most;
        self.pool.take(
            self.store,
            Request {
                held,
                cpu: self.cpu,
                steal: self.steal,
                page: fits(sizes.page),
                chunk: fits(sizes.chunk),
            },
        )
    }

    unsafe fn put(&self, index: u32) {
        self.pool.put(self.store, self.cpu, index);
    }

    fn page(&self, index: u32) -> *mut PageHeader {
        let index = Index(index);
        self.store
            .slot(index.slot())
            .and_then(|slot| slot.header(index, self.store.sizes()))
            .unwrap_or(self.store.empty())
    }

    fn largest(&self) -> u32 {
        self.store.sizes().page
    }
}
