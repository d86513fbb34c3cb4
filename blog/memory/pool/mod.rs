// SPDX-License-Identifier: GPL-2.0

//! The pool of memory for a component's rings: the levels that a log call can reach.
//!
//! The slow path of a log call calls it, in any context up to NMI, so nothing here locks, waits, or
//! calls the kernel. Free and retired memory is on shelves. A caller *claims* a shelf by one
//! compare-and-swap, uses it, and lets it go. A caller that doesn't get it goes on to the next
//! shelf: it may itself have interrupted the holder. A caller that has memory to give, and gets no
//! shelf at all, leaves it for [`Pool::collect`]. Each loop is bounded. This folder needs nothing
//! but `core`, `ring/` and `wire/`, and compiles on the host unchanged.
//!
//! | file | level |
//! |---|---|
//! | `slab.rs` | chunks of split pages: for a ring's first page |
//! | `mod.rs` | free pages, those that the CPU has at hand first |
//! | `rings.rs` | rings of tasks that have ended, the oldest page first; and free rings |
//! | `share.rs` | live rings that hold more than their share |
//! | `shelf.rs` | what a CPU has at hand of all that, and which other shelves have some |
//! | `slot.rs` | the place of a page, whole or split |
//! | `claim.rs`, `list.rs` | the parts that all of this is built of |
//!
//! Pages come from the kernel, and go back to it, in process context. Some become rings here, and
//! stay rings.

use core::{
    ops::Range,
    sync::atomic::{
        AtomicU32,
        AtomicU8,
        Ordering::*, //
    }, //
};
use kernel::blog::ring::{
    PageHeader,
    Pages,
    Ring, //
};

mod claim;
mod list;
mod rings;
mod share;
mod shelf;
mod slab;
mod slot;

pub(crate) use self::{
    claim::Claimed,
    list::List,
    shelf::{
        Hint,
        Hit,
        Shelf,
        MOST_SHELVES, //
    },
    slot::{
        Index,
        Sizes,
        Slot, //
    }, //
};
use self::{
    claim::Held,
    shelf::{
        Lists,
        HITS, //
    },
    slot::WHOLE_BIT, //
};

/// No index: the end of a list.
const NONE: u32 = u32::MAX;

/// The link of what is in no list, as its giver found no shelf.
pub(crate) const LEFT: u32 = NONE - 1;

/// How many other shelves, or retired rings without pages, a level looks at: time in an NMI is
/// bounded.
const LOOKS: usize = 8;

/// How many pages or chunks of other rings are given up for one that is needed: as many as there
/// are chunks in a page, which they may make.
const PIECES: u32 = 16;

/// So many pages above the reserve may just be passing, and set no bit. Else a shelf that gets
/// and gives pages by turns would call all CPUs each time.
const PASSING: u32 = 2;

/// The rings for warnings are the first ones: two, so that a call which has interrupted the writer
/// of one finds the other.
pub(crate) const WARN_RINGS: u32 = 2;

/// The data of a [`Pool`]. It may grow; its parts stay in their places as long as the pool lives.
pub(crate) trait Store {
    /// Sizes of pages and chunks; constant.
    fn sizes(&self) -> Sizes;
    fn slot(&self, page: u32) -> Option<&Slot>;
    /// The shelves, one at least and [`MOST_SHELVES`] at most; where there are fewer than CPUs,
    /// some share one.
    fn shelves(&self) -> &[Shelf];
    fn ring_link(&self, id: u32) -> Option<&AtomicU32>;
    fn ring(&self, id: u32) -> Option<&Ring>;
    /// Number of rings; their ids are below this.
    fn rings(&self) -> u32;
    /// Whether there may be more rings.
    fn may_make_rings(&self) -> bool;
    /// Makes a page, which is whole and the caller's, one of rings; returns their ids, all of which
    /// are the caller's. `None`: there are as many as may be, and the page is as it was.
    fn make_rings(&self, page: u32) -> Option<Range<u32>>;
    /// Pages that rings can hold.
    fn data_pages(&self) -> u32;
    /// A header for rings without pages, and if there is no page: [`PageHeader::empty`].
    fn empty(&self) -> *mut PageHeader;
    /// Whether records are counted that leave the rings.
    fn counts(&self) -> bool;
    /// Counts `n` records of a site that leave the rings.
    fn count(&self, site: u32, n: u32);
}

/// How often each level has served a ring, and what it has now; a moment old.
#[derive(Clone, Copy, Default)]
pub(crate) struct Levels {
    /// How often, by [`Hit`].
    pub(crate) hits: [u64; HITS],
    pub(crate) chunks_free: u32,
    pub(crate) pages_split: u32,
    pub(crate) pages_free: u32,
}

#[derive(Clone, Copy)]
struct Request {
    /// Bytes that it holds.
    held: u32,
    /// Bytes that it has a right to, if that is more than its share.
    least: u32,
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
/// A page or chunk is in a ring's chain, or on one shelf, or somebody holds its index, or it was
/// left in its slot.
#[repr(align(64))]
pub(crate) struct Pool<S> {
    pub(crate) store: S,
    /// Which shelves have more free pages than the reserve, and which have something of the others.
    has_spare: Hint,
    has_chunks: Hint,
    has_rings: Hint,
    has_retired: Hint,
    /// Free pages of a shelf that are for rings that hold nothing.
    reserve: AtomicU32,
    /// The part of the pages that is for warnings, 8 for an eighth; 0: none.
    pub(crate) warn_share: AtomicU32,
    /// Whether something was left for [`Self::collect`].
    left: AtomicU8,
}

impl<S: Store> Pool<S> {
    pub(crate) const fn new(store: S) -> Self {
        Self {
            store,
            has_spare: Hint::new(),
            has_chunks: Hint::new(),
            has_rings: Hint::new(),
            has_retired: Hint::new(),
            reserve: AtomicU32::new(0),
            warn_share: AtomicU32::new(0),
            left: AtomicU8::new(0),
        }
    }

    fn shelf_count(&self) -> u32 {
        // There is one at least: now the compiler knows.
        (self.store.shelves().len() as u32).max(1)
    }

    /// The number of the shelf that is a CPU's.
    fn number(&self, cpu: u32) -> usize {
        (cpu % self.shelf_count()) as usize
    }

    /// Claims the first shelf from `own` on that can be had.
    fn claim_near(&self, own: usize) -> Option<(usize, Held<'_, Lists>)> {
        let shelves = self.store.shelves();
        let claim = |n: usize| Some((n, shelves[n].lists.claim()?));
        (own..shelves.len()).chain(0..own).find_map(claim)
    }

    /// What `take` finds: see [`Hint::find`].
    #[inline]
    fn find<T>(
        &self,
        hint: &Hint,
        own: usize,
        has: impl Fn(&Lists) -> bool,
        take: impl Fn(usize, &Lists) -> Option<T>,
    ) -> Option<T> {
        let shelves = self.store.shelves();
        hint.find(own, |n| &shelves[n].lists, has, take)
    }

    /// The sum of what all shelves have.
    pub(crate) fn sum(&self, of: impl Fn(&Lists) -> u32) -> u32 {
        let shelves = self.store.shelves().iter();
        shelves.map(|shelf| of(shelf.lists.look())).sum()
    }

    fn page_link<'a>(&'a self) -> impl Fn(u32) -> Option<&'a AtomicU32> + Copy {
        |page| Some(&self.store.slot(page)?.link)
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = (u32, &'_ Slot)> {
        (0..).map_while(|page| Some((page, self.store.slot(page)?)))
    }

    /// Keeps the last `pages` free pages for rings that have none; [`u32::MAX`]: all.
    pub(crate) fn set_reserve(&self, pages: u32) {
        let each = pages / self.shelf_count();
        self.reserve.store(each, Relaxed);
        for (n, shelf) in self.store.shelves().iter().enumerate() {
            if shelf.lists.look().pages.len() > each {
                self.has_spare.set(n);
            }
        }
    }

    /// How often each level has served a ring, and what it has now.
    pub(crate) fn levels(&self) -> Levels {
        let mut levels = Levels {
            pages_free: self.sum(|lists| lists.pages.len()),
            ..Levels::default()
        };
        for shelf in self.store.shelves() {
            for (sum, n) in levels.hits.iter_mut().zip(&shelf.hits) {
                *sum += n.load(Relaxed);
            }
        }
        for chunks in self.slots().filter_map(|(_, slot)| slot.free_chunks()) {
            levels.pages_split += 1;
            levels.chunks_free += chunks;
        }
        levels
    }

    // Giving.

    /// Adds a page, which is in no ring, to the free ones.
    pub(crate) fn give_page(&self, page: u32) {
        // Neighbours share cache lines.
        self.shelve(self.number(page / 2), page);
    }

    fn shelve(&self, own: usize, page: u32) {
        match self.claim_near(own) {
            Some((n, lists)) => {
                lists.pages.push(self.page_link(), page);
                let least = self.reserve.load(Relaxed).saturating_add(PASSING);
                if lists.pages.len() > least {
                    self.has_spare.set(n);
                }
            }
            None => self.leave(page, WHOLE_BIT),
        }
    }

    /// Gives a page or chunk, which is in no ring any more, to the level that it belongs to.
    pub(crate) fn put(&self, cpu: u32, index: u32) {
        let index = Index(index);
        let page = match index.part() {
            None => Some(index.slot()),
            Some(chunk) => self.put_chunks(index.slot(), 1 << chunk),
        };
        if let Some(page) = page {
            self.shelve(self.number(cpu), page);
        }
    }

    /// Gives chunks back, by their bits; returns the page if it is whole now, and the caller's.
    fn put_chunks(&self, page: u32, chunks: u32) -> Option<u32> {
        let slot = self.store.slot(page)?;
        let n = slot.shelf.load(Relaxed) as usize;
        let Some(lists) = self.store.shelves().get(n)?.lists.claim() else {
            self.leave(page, chunks);
            return None;
        };
        let whole = lists.slab.put(&self.store, page, slot, chunks);
        if !whole {
            self.has_chunks.set(n);
            return None;
        }
        drop(lists);
        slot.unite(self.store.sizes());
        Some(page)
    }

    /// Leaves parts of a page, by their bits, where [`Self::collect`] finds them.
    fn leave(&self, page: u32, parts: u32) {
        if let Some(slot) = self.store.slot(page) {
            slot.leave(parts);
            self.has_left();
        }
    }

    fn has_left(&self) {
        // ORDERING: Release pairs with `collect`: what was left is found.
        self.left.store(1, Release);
    }

    /// Puts on shelves what was left, as far as there are any to be had. Process context.
    pub(crate) fn collect(&self) {
        // ORDERING: Acquire: see `has_left`.
        if self.left.load(Relaxed) == 0 || self.left.swap(0, Acquire) == 0 {
            return;
        }
        for (page, slot) in self.slots() {
            let whole = match slot.take_left() {
                0 => None,
                WHOLE_BIT => Some(page),
                chunks => self.put_chunks(page, chunks),
            };
            if let Some(page) = whole {
                self.give_page(page);
            }
        }
        self.collect_rings();
    }

    // Taking.

    /// Takes a page or chunk, as `Pages::take` says.
    fn take(&self, request: Request) -> Option<Index> {
        let own = self.number(request.cpu);
        let index = self.at_hand(own, request);
        let index = index.or_else(|| self.find_elsewhere(own, request));
        if index.is_none() {
            self.store.shelves()[own].count(Hit::Dry);
        }
        index
    }

    /// Takes what the CPU has at hand.
    #[inline]
    fn at_hand(&self, own: usize, request: Request) -> Option<Index> {
        let shelf = &self.store.shelves()[own];
        let look = shelf.lists.look();
        let kept = match request.held {
            0 => 0,
            _ => self.reserve.load(Relaxed),
        };
        if look.pages.len() <= kept && !(request.small() && look.slab.has()) {
            return None;
        }
        let lists = shelf.lists.claim()?;
        if request.small() {
            if let Some(chunk) = lists.slab.take(&self.store) {
                shelf.count(Hit::Chunk);
                return Some(chunk);
            }
        }
        if lists.pages.len() <= kept {
            return None;
        }
        let page = lists.pages.pop(self.page_link())?;
        drop(lists);
        shelf.count(Hit::Page);
        self.cut(own, request, page)
    }

    /// Looks beyond the CPU's own shelf. Not inlined, so that the common case doesn't pay for this.
    #[inline(never)]
    fn find_elsewhere(&self, own: usize, request: Request) -> Option<Index> {
        let (shelves, small) = (self.store.shelves(), request.small());
        // Where no shelf has more than its reserve, all CPUs would look for the last few pages and
        // chunks of others: those who have tasks that have ended use these up first.
        if !self.has_spare.is_clear() {
            let chunk = if small { self.chunk(own) } else { None };
            if chunk.is_some() {
                return chunk;
            }
            let reserve = self.reserve.load(Relaxed);
            let has = |lists: &Lists| lists.pages.len() > reserve;
            let pop = |_, lists: &Lists| lists.pages.pop(self.page_link());
            if let Some(page) = self.find(&self.has_spare, own, has, pop) {
                return self.other_page(own, request, page);
            }
        }
        for _ in 0..PIECES {
            let Some(index) = self.take_retired_page(request.cpu) else {
                break;
            };
            shelves[own].count(Hit::Retired);
            if let Some(index) = self.suit(own, request, Index(index)) {
                return Some(index);
            }
        }
        // Rather a chunk than nothing.
        let chunk = if request.chunk { self.chunk(own) } else { None };
        let reserve = || {
            let others = (own + 1..shelves.len()).chain(0..own);
            self.other_page(own, request, self.any_page(others, LOOKS)?)
        };
        let index = match request.held {
            0 => chunk.or_else(reserve),
            _ => chunk,
        };
        index.or_else(|| match request.steal {
            true => self.steal(own, request),
            false => None,
        })
    }

    /// Takes a chunk from the own shelf, or from another one.
    fn chunk(&self, own: usize) -> Option<Index> {
        let has = |lists: &Lists| lists.slab.has();
        let take = |_, lists: &Lists| lists.slab.take(&self.store);
        let chunk = self.find(&self.has_chunks, own, has, take)?;
        self.store.shelves()[own].count(Hit::Chunk);
        Some(chunk)
    }

    /// Takes a free page off the first of these shelves that gives one, of so many that have any.
    fn any_page(&self, shelves: impl Iterator<Item = usize>, looks: usize) -> Option<u32> {
        let lists = |n: usize| &self.store.shelves()[n].lists;
        let mut have = shelves
            .filter(|n| lists(*n).look().pages.len() != 0)
            .take(looks);
        have.find_map(|n| lists(n).claim()?.pages.pop(self.page_link()))
    }

    /// Makes a free page of another shelf what is asked for.
    fn other_page(&self, own: usize, request: Request, page: u32) -> Option<Index> {
        self.store.shelves()[own].count(Hit::Other);
        self.cut(own, request, page)
    }

    /// Makes a free page what is asked for.
    #[inline]
    fn cut(&self, own: usize, request: Request, page: u32) -> Option<Index> {
        match request.small() {
            true => self.split(own, page),
            false => Some(Index::whole(page)),
        }
    }

    /// Splits a free page, and takes one of its chunks.
    fn split(&self, own: usize, page: u32) -> Option<Index> {
        let slot = self.store.slot(page)?;
        let sizes = self.store.sizes();
        slot.divide(sizes);
        let rest = (1 << sizes.chunks()) - 2;
        match self.claim_near(own) {
            Some((n, lists)) => {
                slot.shelf.store(n as u32, Relaxed);
                lists.slab.put(&self.store, page, slot, rest);
                self.has_chunks.set(n);
            }
            None => {
                slot.shelf.store(own as u32, Relaxed);
                self.leave(page, rest);
            }
        }
        Some(Index::chunk(page, 0))
    }

    /// Makes what somebody gave up what is asked for; what doesn't suit goes to its level.
    fn suit(&self, own: usize, request: Request, index: Index) -> Option<Index> {
        match (index.part(), request.small()) {
            (Some(_), true) => Some(index),
            (None, _) => self.cut(own, request, index.slot()),
            // Perhaps it makes a page with others.
            (Some(chunk), false) => {
                let page = self.put_chunks(index.slot(), 1 << chunk)?;
                Some(Index::whole(page))
            }
        }
    }

    /// Takes a page for something else than records, from wherever one can be had. `steal`: whether
    /// live rings may be made to give one up. Any context.
    pub(crate) fn take_page(&self, cpu: u32, steal: bool) -> Option<u32> {
        let request = Request {
            held: 0,
            least: 0,
            cpu,
            steal,
            page: true,
            chunk: false,
        };
        Some(self.take(request)?.slot())
    }

    // For who gives pages back to the kernel. Process context.

    /// Takes a free page from wherever there is one.
    pub(crate) fn take_free(&self) -> Option<u32> {
        self.collect();
        self.any_page(0..self.store.shelves().len(), usize::MAX)
    }

    /// As [`Self::take_free`], or from a ring whose task has ended.
    pub(crate) fn take_back(&self) -> Option<u32> {
        loop {
            if let Some(page) = self.take_free() {
                return Some(page);
            }
            let index = self.take_retired_page(0)?;
            self.put(0, index);
        }
    }

    /// The pool as a ring sees it that is used on `cpu`; `steal`: whether other rings may be made
    /// to give up pages.
    pub(crate) fn pages(&self, cpu: u32, steal: bool) -> PagesOf<'_, S> {
        PagesOf {
            pool: self,
            cpu,
            steal,
            least: 0,
            closed: false,
        }
    }
}

pub(crate) struct PagesOf<'a, S: Store> {
    pool: &'a Pool<S>,
    cpu: u32,
    steal: bool,
    /// What the ring has a right to, in bytes, if that is more than its share.
    pub(crate) least: u32,
    /// Whether there is no page to be had.
    pub(crate) closed: bool,
}

// SAFETY: The pool hands each index out once until it comes back, and its pages are formatted. A
// slot keeps its memory as long as there are rings; where it has none, the empty header stands for
// it, as for an index that there isn't.
unsafe impl<S: Store> Pages for PagesOf<'_, S> {
    fn take(&self, held: u32, room: u32, most: u32) -> Option<u32> {
        let sizes = self.pool.store.sizes();
        let fits = |size: u32| size != 0 && room <= size && size <= most;
        let (page, chunk) = (fits(sizes.page), fits(sizes.chunk));
        if self.closed || !(page || chunk) {
            return None;
        }
        let index = self.pool.take(Request {
            held,
            least: self.least,
            cpu: self.cpu,
            steal: self.steal,
            page,
            chunk,
        })?;
        Some(index.0)
    }

    unsafe fn put(&self, index: u32) {
        self.pool.put(self.cpu, index);
    }

    fn page(&self, index: u32) -> *mut PageHeader {
        let index = Index(index);
        let store = &self.pool.store;
        let slot = store.slot(index.slot());
        slot.and_then(|slot| slot.header(index, store.sizes()))
            .unwrap_or(store.empty())
    }

    fn counts(&self) -> bool {
        self.pool.store.counts()
    }

    fn count(&self, site: u32, n: u32) {
        self.pool.store.count(site, n);
    }

    fn largest(&self) -> u32 {
        self.pool.store.sizes().page
    }
}
