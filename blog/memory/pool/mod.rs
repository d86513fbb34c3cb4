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
//! | `mod.rs` | free pages, those that the CPU has at hand first |
//! | `rings.rs` | rings of tasks that have ended, the oldest page first; and free rings |
//! | `share.rs` | live rings that hold more than their share |
//! | `shelf.rs` | what a CPU has at hand of all that |
//! | `slot.rs` | what all of that is about: the place of a page, whole or split |
//! | `hint.rs` | where there is more of it |
//! | `stack.rs`, `queue.rs`, `retired.rs` | what it is built of |
//!
//! Pages come from the kernel, and go back to it, in process context. Some become rings here, and
//! stay that.

use core::{
    ops::Range,
    sync::atomic::{
        AtomicU32,
        AtomicU64,
        Ordering::Relaxed, //
    }, //
};
use kernel::blog::ring::{
    PageHeader,
    Pages,
    Ring, //
};

mod hint;
mod queue;
mod retired;
mod rings;
mod share;
mod shelf;
mod slab;
mod slot;
pub(crate) mod stack;

use self::share::Shares;
pub(crate) use self::{
    hint::{
        Hint,
        MOST as MOST_SHELVES, //
    },
    queue::Cell,
    shelf::Shelf,
    slot::{
        Index,
        Sizes,
        Slot, //
    }, //
};
#[cfg(test)]
pub(crate) use self::{
    queue::Queue,
    stack::{
        List,
        Stack, //
    }, //
};

/// No index: the end of a list.
const NONE: u32 = u32::MAX;

/// How often an operation tries again before it gives up. A try fails only because another
/// operation has succeeded, so the bound is reached only under absurd contention; it keeps the
/// time in an NMI bounded.
const TRIES: u32 = 1000;

/// How many chunks of retired rings are given up in the hope that they make a page.
const PIECES: u32 = 64;

/// One of how many pages is kept for rings that have none.
const PART: u32 = 8;

/// So many pages above the reserve may just be passing: of these, others hear when the worker
/// comes. Else a shelf that gets and gives pages by turns would call all CPUs each time.
const PASSING: u32 = 2;

/// How many pages or rings more are taken from another shelf than are needed.
const BURST: u32 = 7;

/// What a [`Pool`] works on. It may grow; what is there stays where it is as long as the pool.
pub(crate) trait Store {
    /// Sizes of pages and chunks; constant.
    fn sizes(&self) -> Sizes;
    /// The slot with this number.
    fn slot(&self, page: u32) -> Option<&Slot>;
    /// The shelves, one at least and [`MOST_SHELVES`] at most; where there are fewer than CPUs,
    /// some share one.
    fn shelves(&self) -> &[Shelf];
    /// The link of the ring with this id.
    fn ring_link(&self, id: u32) -> Option<&AtomicU32>;
    /// Cells for the queues of retired rings: for each shelf a power of two, 2 at least; better
    /// twice as many in all as rings. Those that retire when all are in use lose their place in the
    /// order.
    fn cells(&self) -> &[Cell];
    /// The ring with this id.
    fn ring(&self, id: u32) -> Option<&Ring>;
    /// Number of rings; their ids are below this.
    fn rings(&self) -> u32;
    /// Whether there may be more rings.
    fn may_make_rings(&self) -> bool;
    /// Makes a page, which is whole and the caller's, one of rings; returns their ids, all of which
    /// are the caller's. `None`: there are as many as may be, and the page is as it was.
    fn make_rings(&self, page: u32) -> Option<Range<u32>>;
    /// A header for rings without pages, and where there is no page: [`PageHeader::empty`].
    fn empty(&self) -> *mut PageHeader;
}

/// How often each level has served a ring, and what it has now; a moment old.
#[derive(Clone, Copy, Default)]
pub(crate) struct Levels {
    /// Chunks taken out of the slab.
    pub(crate) chunk_hits: u64,
    /// Free pages taken off the CPU's own shelf.
    pub(crate) page_hits: u64,
    /// Free pages taken off another shelf.
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
    /// Free pages.
    pub(crate) pages_free: u32,
}

/// How many shelves there are.
fn shelf_count(store: &impl Store) -> u32 {
    // There is one at least: now the compiler knows.
    (store.shelves().len() as u32).max(1)
}

fn count(n: &AtomicU64) {
    n.fetch_add(1, Relaxed);
}

/// What a ring asks for.
#[derive(Clone, Copy)]
struct Request {
    /// Bytes that it holds.
    held: u32,
    /// CPU that it is for.
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

/// Free pages, free rings and retired rings of one component. What they are in is the shelves of
/// its [`Store`]; here is what these have in common, which changes rarely.
///
/// # Invariants
///
/// A page or chunk is in a ring's chain or in one of the levels, or somebody holds its index.
#[repr(align(64))]
pub(crate) struct Pool {
    /// Which shelves have free pages: any, and more than the reserve.
    has_pages: Hint,
    has_spare: Hint,
    has_chunks: Hint,
    has_rings: Hint,
    has_retired: Hint,
    shares: Shares,
    /// Free pages of a shelf that are for rings that hold nothing.
    reserve: AtomicU32,
}

impl Pool {
    /// Makes a pool with nothing in it.
    pub(crate) const fn new() -> Self {
        Self {
            has_pages: Hint::new(),
            has_spare: Hint::new(),
            has_chunks: Hint::new(),
            has_rings: Hint::new(),
            has_retired: Hint::new(),
            shares: Shares::new(),
            reserve: AtomicU32::new(0),
        }
    }

    /// Says that there are `pages` pages in all: what follows from that is set.
    pub(crate) fn set_pages(&self, store: &impl Store, pages: u32) {
        self.shares
            .set_bytes(pages.saturating_mul(store.sizes().page));
        self.set_reserve(store, pages / PART);
    }

    /// Keeps the last `pages` free pages for rings that have none.
    pub(crate) fn set_reserve(&self, store: &impl Store, pages: u32) {
        let shelves = shelf_count(store);
        let each = pages / shelves;
        self.reserve.store(each, Relaxed);
        self.shares
            .set_reserve((each * shelves).saturating_mul(store.sizes().page));
        self.refresh(store);
    }

    /// Keeps all free pages for rings that have none, until [`Self::set_pages`] is called.
    pub(crate) fn reserve_all(&self) {
        self.reserve.store(u32::MAX, Relaxed);
    }

    /// Looks after what all shelves together have.
    fn refresh(&self, store: &impl Store) {
        let shelves = store.shelves();
        self.shares.refresh(store);
        let reserve = self.reserve.load(Relaxed);
        let chunks = Self::chunks_free(store) / shelf_count(store);
        for (n, shelf) in shelves.iter().enumerate() {
            shelf.slab.even_out(&shelves[0].slab, chunks);
            if shelf.pages.len() > reserve {
                self.has_spare.set(n);
            }
        }
    }

    /// What is behind fair shares.
    pub(crate) fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Free pages; a moment old.
    #[cfg(test)]
    pub(crate) fn free(&self, store: &impl Store) -> u32 {
        store.shelves().iter().map(|shelf| shelf.pages.len()).sum()
    }

    /// A ring's fair share in bytes; a moment old.
    pub(crate) fn fair(&self, store: &impl Store) -> u32 {
        self.shares.fair(store)
    }

    /// Free chunks; a moment old.
    fn chunks_free(store: &impl Store) -> u32 {
        let free = store.shelves().iter().map(|shelf| shelf.slab.free());
        free.fold(0, u32::wrapping_add)
    }

    /// How often each level has served a ring, and what it has now.
    pub(crate) fn levels(&self, store: &impl Store) -> Levels {
        let mut levels = Levels {
            chunks_free: Self::chunks_free(store),
            ..Levels::default()
        };
        for shelf in store.shelves() {
            levels.chunk_hits += shelf.hits.chunk.load(Relaxed);
            levels.page_hits += shelf.hits.page.load(Relaxed);
            levels.other_hits += shelf.hits.other.load(Relaxed);
            levels.retired_hits += shelf.hits.retired.load(Relaxed);
            levels.stolen += shelf.hits.stolen.load(Relaxed);
            levels.dry += shelf.hits.dry.load(Relaxed);
            levels.pages_split = levels.pages_split.wrapping_add(shelf.slab.split());
            levels.pages_free += shelf.pages.len();
        }
        levels
    }

    /// The number of the shelf that is a CPU's.
    fn number(store: &impl Store, cpu: u32) -> usize {
        (cpu % shelf_count(store)) as usize
    }

    // Giving.

    /// Adds a page, which is in no ring, to the free ones.
    pub(crate) fn give_page(&self, store: &impl Store, page: u32) {
        // Their slots are two to a cache line.
        self.shelve(store, Self::number(store, page / 2), page);
    }

    /// Puts a free page on a shelf.
    fn shelve(&self, store: &impl Store, n: usize, page: u32) {
        let pages = &store.shelves()[n].pages;
        pages.push(|page| Some(&store.slot(page)?.link), page);
        self.has_pages(store, n);
    }

    /// Says that a shelf has free pages.
    fn has_pages(&self, store: &impl Store, n: usize) {
        self.has_pages.set(n);
        let least = self.reserve.load(Relaxed).saturating_add(PASSING);
        if store.shelves()[n].pages.len() > least {
            self.has_spare.set(n);
        }
    }

    /// Gives a page or chunk, which is in no ring any more, to the level that it belongs to.
    pub(crate) fn put(&self, store: &impl Store, cpu: u32, index: u32) {
        let index = Index(index);
        let page = match index.part() {
            None => Some(index.slot()),
            Some(chunk) => self.put_chunk(store, cpu, index.slot(), chunk),
        };
        if let Some(page) = page {
            self.shelve(store, Self::number(store, cpu), page);
        }
    }

    /// Gives a chunk back; returns the page if it is whole now.
    fn put_chunk(&self, store: &impl Store, cpu: u32, page: u32, chunk: u32) -> Option<u32> {
        let own = Self::number(store, cpu);
        let whole = store.shelves()[own].slab.put(store, page, chunk);
        self.has_chunks.set(own);
        whole
    }

    // Taking.

    /// Takes a page or chunk, as `Pages::take` says.
    fn take(&self, store: &impl Store, request: Request) -> Option<u32> {
        let own = Self::number(store, request.cpu);
        let index = self.find(store, own, request);
        if index.is_none() {
            count(&store.shelves()[own].hits.dry);
        }
        Some(index?.0)
    }

    fn find(&self, store: &impl Store, own: usize, request: Request) -> Option<Index> {
        if !request.page && !request.chunk {
            return None;
        }
        if request.small() {
            let chunk = self.take_chunk(store, own, own);
            if chunk.is_some() {
                return chunk;
            }
            let lender = store.shelves()[own].lender.load(Relaxed) as usize;
            if lender != own {
                let chunk = self.take_chunk(store, own, lender);
                if chunk.is_some() {
                    return chunk;
                }
            }
        }
        let page = self.own_page(store, own, request);
        if page.is_some() {
            return page;
        }
        self.find_elsewhere(store, own, request)
    }

    /// What the CPU doesn't have at hand. Not inlined, so that who has it doesn't pay for this.
    #[inline(never)]
    fn find_elsewhere(&self, store: &impl Store, own: usize, request: Request) -> Option<Index> {
        let (shelf, small) = (&store.shelves()[own], request.small());
        // As often as there are shelves: so it costs the same, however many these are.
        if shelf.looks.fetch_add(1, Relaxed) % shelf_count(store) == 0 {
            self.refresh(store);
        }
        // Where no shelf has more than its reserve, all CPUs would look for the last few pages and
        // chunks of others: those who have tasks that have ended use these up first.
        let full = self.has_spare.is_clear();
        let elsewhere = || {
            let chunk = if small {
                self.other_chunk(store, own)
            } else {
                None
            };
            chunk.or_else(|| self.other_page(store, own, request))
        };
        if let Some(index) = if full { None } else { elsewhere() } {
            return Some(index);
        }
        for _ in 0..PIECES {
            let Some(index) = self.take_retired_page(store, request.cpu) else {
                break;
            };
            count(&shelf.hits.retired);
            if let Some(index) = self.suit(store, own, request, Index(index)) {
                return Some(index);
            }
            if request.chunk && shelf.slab.free() as i32 >= store.sizes().chunks() as i32 {
                // There is room in small pieces: no need to give up so many more.
                break;
            }
        }
        if full {
            if let Some(index) = elsewhere() {
                return Some(index);
            }
        }
        if request.chunk {
            let other = || match small {
                // They have been asked.
                true => None,
                false => self.other_chunk(store, own),
            };
            if let Some(chunk) = self.take_chunk(store, own, own).or_else(other) {
                return Some(chunk);
            }
        }
        if !request.steal {
            return None;
        }
        let pages = self.pages(store, request.cpu, false);
        for _ in 0..PIECES {
            let index = self
                .shares
                .steal(store, &pages, &shelf.cursor, request.held, !small)?;
            count(&shelf.hits.stolen);
            if let Some(index) = self.suit(store, own, request, Index(index)) {
                return Some(index);
            }
        }
        None
    }

    /// Takes a chunk from the slab of shelf `n`.
    fn take_chunk(&self, store: &impl Store, own: usize, n: usize) -> Option<Index> {
        let chunk = store.shelves()[n].slab.take(store)?;
        count(&store.shelves()[own].hits.chunk);
        Some(chunk)
    }

    /// Takes a chunk from wherever there is one.
    fn other_chunk(&self, store: &impl Store, own: usize) -> Option<Index> {
        self.has_chunks.others(own).find_map(|n| {
            let chunk = self.take_chunk(store, own, n);
            if chunk.is_none() {
                self.has_chunks.clear(n, || store.shelves()[n].slab.has());
            }
            chunk
        })
    }

    /// Makes a free page what is asked for.
    #[inline]
    fn cut(&self, store: &impl Store, own: usize, request: Request, page: u32) -> Option<Index> {
        match request.small() {
            true => self.split(store, own, page),
            false => Some(Index::whole(page)),
        }
    }

    /// Splits a free page, and takes one of its chunks.
    fn split(&self, store: &impl Store, own: usize, page: u32) -> Option<Index> {
        let shelf = &store.shelves()[own];
        let (chunk, lender) = shelf.slab.split_page(store, page)?;
        shelf.lender.store(lender, Relaxed);
        self.has_chunks.set(lender as usize);
        Some(chunk)
    }

    /// Free pages of a shelf that are not for this request.
    fn kept(&self, request: Request) -> u32 {
        match request.held {
            0 => 0,
            _ => self.reserve.load(Relaxed),
        }
    }

    /// Takes a free page off the own shelf.
    fn own_page(&self, store: &impl Store, own: usize, request: Request) -> Option<Index> {
        let shelf = &store.shelves()[own];
        if shelf.pages.len() <= self.kept(request) {
            return None;
        }
        let page = shelf.pages.pop(|page| Some(&store.slot(page)?.link))?;
        count(&shelf.hits.page);
        self.cut(store, own, request, page)
    }

    /// Takes a free page off another shelf, and where there are many, a few more for the own one.
    fn other_page(&self, store: &impl Store, own: usize, request: Request) -> Option<Index> {
        let (shelf, kept) = (&store.shelves()[own], self.kept(request));
        let hint = if kept == 0 {
            &self.has_pages
        } else {
            &self.has_spare
        };
        let page = hint.others(own).find_map(|n| {
            let pages = &store.shelves()[n].pages;
            let spare = pages.len().saturating_sub(self.reserve.load(Relaxed));
            let more = (spare / 2).min(BURST);
            let page = match pages.len() > kept {
                true => pages.share(|page| Some(&store.slot(page)?.link), &shelf.pages, more),
                false => None,
            };
            match page {
                None => hint.clear(n, || pages.len() > kept),
                Some(_) if more != 0 => self.has_pages(store, own),
                Some(_) => {}
            }
            page
        })?;
        count(&shelf.hits.other);
        self.cut(store, own, request, page)
    }

    /// Makes what somebody gave up what is asked for; what doesn't suit goes to its level.
    fn suit(
        &self,
        store: &impl Store,
        own: usize,
        request: Request,
        index: Index,
    ) -> Option<Index> {
        match (index.part(), request.small()) {
            (Some(_), true) => Some(index),
            (None, _) => self.cut(store, own, request, index.slot()),
            // Perhaps it makes a page with others.
            (Some(chunk), false) => {
                let page = self.put_chunk(store, request.cpu, index.slot(), chunk)?;
                Some(Index::whole(page))
            }
        }
    }

    /// Takes a page for something else than records, from wherever one can be had. `steal`: whether
    /// live rings may be made to give one up. Any context.
    pub(crate) fn take_page(&self, store: &impl Store, cpu: u32, steal: bool) -> Option<u32> {
        let request = Request {
            held: 0,
            cpu,
            steal,
            page: true,
            chunk: false,
        };
        Some(self.find(store, Self::number(store, cpu), request)?.slot())
    }

    /// Says that a page, which the caller has, is not for records any more.
    pub(crate) fn leave(&self, store: &impl Store) {
        self.shares.sub_bytes(store.sizes().page);
    }

    // For who gives pages back to the kernel. Process context.

    /// Takes a free page from wherever there is one.
    pub(crate) fn take_free(&self, store: &impl Store) -> Option<u32> {
        let take = |shelf: &Shelf| shelf.pages.pop(|page| Some(&store.slot(page)?.link));
        store.shelves().iter().find_map(take)
    }

    /// As [`Self::take_free`], or from a ring whose task has ended.
    pub(crate) fn take_back(&self, store: &impl Store) -> Option<u32> {
        loop {
            if let Some(page) = self.take_free(store) {
                return Some(page);
            }
            let index = self.take_retired_page(store, 0)?;
            self.put(store, 0, index);
        }
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
