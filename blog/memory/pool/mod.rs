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
//! | `mod.rs` | free pages, those that the CPU has at hand first |
//! | `rings.rs` | rings of tasks that have ended, the oldest page first; and free rings |
//! | `back.rs` | pages that go back to the kernel |
//! | `share.rs` | live rings that hold more than their share |
//! | `shelf.rs` | what a CPU has at hand of all that, and which other shelves have some |
//! | `slot.rs` | the place of a page |
//! | `claim.rs`, `list.rs` | the parts that all of this is built of |
//!
//! Each ring has room for its first records, so it needs a page only when that is full. Pages come
//! from the kernel, and go back to it, in process context. Some become rings here, and stay rings.

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

#[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
mod back;
mod claim;
mod list;
mod rings;
mod share;
mod shelf;
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
    slot::Slot, //
};
use self::{
    claim::Held,
    shelf::{
        Lists,
        HITS, //
    }, //
};

/// No index: the end of a list.
const NONE: u32 = u32::MAX;

/// The link of what is in no list, as its giver found no shelf.
const LEFT: u32 = NONE - 1;

/// How many other shelves a level looks at: time in an NMI is bounded.
const LOOKS: usize = 8;

/// How many pages of rings whose tasks have ended are given up for a ring.
const PIECES: u32 = 16;

/// So many pages or rings on a shelf may just be passing, and set no bit. Else a shelf that gets
/// and gives them by turns would call all CPUs each time.
const PASSING: u32 = 2;

/// The rings for warnings are the first ones: two, so that a call which has interrupted the writer
/// of one finds the other.
pub(crate) const WARN_RINGS: u32 = 2;

/// The data of a [`Pool`]. It may grow; its parts stay in their places as long as the pool lives.
pub(crate) trait Store {
    /// The size of a page in bytes; constant.
    fn page_size(&self) -> u32;
    fn slot(&self, page: u32) -> Option<&Slot>;
    /// The shelves, one at least and [`MOST_SHELVES`] at most; where there are fewer than CPUs,
    /// some share one.
    fn shelves(&self) -> &[Shelf];
    fn ring(&self, id: u32) -> Option<&Ring>;
    /// Number of rings; their ids are below this.
    fn rings(&self) -> u32;
    /// Whether there may be more rings.
    fn may_make_rings(&self) -> bool;
    /// Makes a page, which is the caller's, one of rings; returns their ids, all of which are the
    /// caller's. `None`: there are as many as may be, and the page is as it was.
    fn make_rings(&self, page: u32) -> Option<Range<u32>>;
    /// Pages that rings can hold.
    fn data_pages(&self) -> u32;
    /// A header for rings without pages, and if there is no page: [`PageHeader::empty`].
    fn empty(&self) -> *mut PageHeader;
    /// Whether records are counted that leave the rings.
    #[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
    fn counts(&self) -> bool;
    /// Counts `n` records of a site that leave the rings.
    #[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
    fn count(&self, site: u32, n: u32);
}

/// How often each level has served a ring, and what is free; a moment old.
#[derive(Clone, Copy, Default)]
pub(crate) struct Levels {
    /// How often, by [`Hit`].
    pub(crate) hits: [u64; HITS],
    pub(crate) pages_free: u32,
}

/// Free pages, free rings and retired rings of one component. What they are in is the shelves of
/// its [`Store`]; here is what these have in common, which changes rarely.
///
/// # Invariants
///
/// A page is in a ring's chain, or on one shelf, or somebody holds its index, or its link is
/// [`LEFT`].
#[repr(align(64))]
pub(crate) struct Pool<S> {
    pub(crate) store: S,
    /// Which shelves have some of these.
    has_pages: Hint,
    has_rings: Hint,
    has_ended: Hint,
    has_retired: Hint,
    /// The part of the pages that is for warnings, 8 for an eighth; 0: none.
    pub(crate) warn_share: AtomicU32,
    /// Whether something was left for [`Self::collect`].
    left: AtomicU8,
}

impl<S: Store> Pool<S> {
    pub(crate) const fn new(store: S) -> Self {
        Self {
            store,
            has_pages: Hint::new(),
            has_rings: Hint::new(),
            has_ended: Hint::new(),
            has_retired: Hint::new(),
            warn_share: AtomicU32::new(0),
            left: AtomicU8::new(0),
        }
    }

    /// The number of the shelf that is a CPU's.
    fn number(&self, cpu: u32) -> usize {
        // There is one at least: now the compiler knows.
        (cpu % (self.store.shelves().len() as u32).max(1)) as usize
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

    /// How often each level has served a ring, and what is free.
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
        levels
    }

    /// Adds a page, which is in no ring, to the free ones.
    pub(crate) fn give_page(&self, page: u32) {
        // Neighbours share cache lines.
        self.put(page / 2, page);
    }

    /// Gives a page that has left its ring.
    pub(crate) fn put(&self, cpu: u32, page: u32) {
        if let Some((n, lists)) = self.claim_near(self.number(cpu)) {
            self.add_page(n, &lists, page);
        } else if let Some(slot) = self.store.slot(page) {
            self.leave(&slot.link);
        }
    }

    /// Adds a page to shelf `n`, which the caller has claimed.
    fn add_page(&self, n: usize, lists: &Lists, page: u32) {
        lists.pages.push(self.page_link(), page);
        if lists.pages.len() > PASSING {
            self.has_pages.set(n);
        }
    }

    /// Leaves what has this link, and found no shelf, where [`Self::collect`] finds it.
    fn leave(&self, link: &AtomicU32) {
        // ORDERING: Release pairs with `was_left`: what was done to it before is visible.
        link.store(LEFT, Release);
        // ORDERING: Release pairs with `collect`: what was left is found.
        self.left.store(1, Release);
    }

    /// Takes what has this link, if it was left.
    fn was_left(link: &AtomicU32) -> bool {
        // ORDERING: Acquire: see `leave`.
        link.load(Relaxed) == LEFT && (link.compare_exchange(LEFT, NONE, Acquire, Relaxed)).is_ok()
    }

    /// Puts on shelves what was left, as far as there are any to be had. Process context.
    pub(crate) fn collect(&self) {
        // ORDERING: Acquire: see `leave`.
        if self.left.load(Relaxed) == 0 || self.left.swap(0, Acquire) == 0 {
            return;
        }
        for (page, _) in self.slots().filter(|(_, slot)| Self::was_left(&slot.link)) {
            self.give_page(page);
        }
        self.collect_rings();
    }

    /// Takes a page, for a ring that holds `held` of them, and has a right to `least`, from
    /// wherever one can be had. `steal`: whether live rings may be made to give one up. Any
    /// context.
    pub(crate) fn take(&self, cpu: u32, held: u32, least: u32, steal: bool) -> Option<u32> {
        let own = self.number(cpu);
        let has = |lists: &Lists| lists.pages.len() != 0;
        let take = |n: usize, lists: &Lists| Some((n, lists.pages.pop(self.page_link())?));
        if let Some((n, page)) = self.find(&self.has_pages, own, has, take) {
            let hit = if n == own { Hit::Page } else { Hit::Other };
            self.store.shelves()[own].count(hit);
            return Some(page);
        }
        self.take_from_rings(own, held, least, steal)
    }

    /// Not inlined, so that the common case doesn't pay for this.
    #[inline(never)]
    fn take_from_rings(&self, own: usize, held: u32, least: u32, steal: bool) -> Option<u32> {
        let shelf = &self.store.shelves()[own];
        let level = |hit, page: Option<u32>| Some((hit, page?));
        let found = level(Hit::Retired, self.take_retired_page(own));
        // The last few, which have set no bit.
        let pop = |lists: &Lists| lists.pages.pop(self.page_link());
        let few = || self.any(own, |lists| &lists.pages, pop);
        let found = found.or_else(|| level(Hit::Other, few()));
        let found = found.or_else(|| match steal {
            true => level(Hit::Stolen, self.steal(own, held, least)),
            false => None,
        });
        shelf.count(found.map_or(Hit::Dry, |(hit, _)| hit));
        found.map(|(_, page)| page)
    }

    /// What `pop` gives on a few other shelves that have some in a list.
    fn any(
        &self,
        own: usize,
        list: impl Fn(&Lists) -> &List,
        pop: impl Fn(&Lists) -> Option<u32>,
    ) -> Option<u32> {
        let shelves = self.store.shelves();
        let has = |n: &usize| list(shelves[*n].lists.look()).len() != 0;
        let mut some = (own + 1..shelves.len())
            .chain(0..own)
            .filter(has)
            .take(LOOKS);
        some.find_map(|n| pop(&*shelves[n].lists.claim()?))
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
    /// Pages that the ring has a right to, if that is more than its share.
    pub(crate) least: u32,
    /// Whether there is no page to be had.
    pub(crate) closed: bool,
}

// SAFETY: The pool hands each index out once until it comes back, and its pages are formatted. A
// slot keeps its memory as long as there are rings; where it has none, the empty header stands for
// it, as for an index that there isn't.
unsafe impl<S: Store> Pages for PagesOf<'_, S> {
    fn take(&self, held: u32) -> Option<u32> {
        match self.closed {
            true => None,
            false => self.pool.take(self.cpu, held, self.least, self.steal),
        }
    }

    unsafe fn put(&self, index: u32) {
        self.pool.put(self.cpu, index);
    }

    fn page(&self, index: u32) -> *mut PageHeader {
        let store = &self.pool.store;
        let page = store.slot(index).map(Slot::page);
        page.filter(|page| !page.is_null()).unwrap_or(store.empty())
    }

    #[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
    fn counts(&self) -> bool {
        self.pool.store.counts()
    }

    #[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
    fn count(&self, site: u32, n: u32) {
        self.pool.store.count(site, n);
    }

    fn size(&self) -> u32 {
        self.pool.store.page_size()
    }
}
