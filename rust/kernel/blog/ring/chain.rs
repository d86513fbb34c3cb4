// SPDX-License-Identifier: GPL-2.0

//! The chain of a ring's pages, from the oldest to the current one.

use super::{
    busy::Writing,
    page::{
        PageHeader,
        Pages,
        NO_PAGE,
        OWN_ROOM, //
    },
    turn::NewPage,
    Ring, //
};
use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::*, //
};

/// How often [`Ring::steal`] tries again before it gives up, and how many of its pages a ring
/// gives up in one turn after its limit was lowered: time in an NMI is bounded.
const TRIES: u32 = 16;

/// The pages of a ring.
///
/// # Invariants
///
/// - The pages in the low half of `oldest`, `next` of that, … up to the newest one are the
///   ring's, with `seq` growing by one. The high half of `oldest` grows with each change of the
///   low half.
/// - The ring's own room is the first of these, or it is in no chain and has no position, or who
///   took it out is about to withdraw that.
/// - Only the ring's writer, or who owns a ring that has none, adds a page or takes the last one.
/// - `pages` is the number of those pages that are of the pool, or more while one is being added or
///   taken.
#[repr(C)]
pub(super) struct RingChain {
    oldest: AtomicU64,
    pub(super) pages: AtomicU32,
}

impl RingChain {
    /// Without a page.
    pub(super) const fn new() -> Self {
        Self {
            oldest: AtomicU64::new(NO_PAGE as u64),
            pages: AtomicU32::new(0),
        }
    }

    fn is_empty(&self) -> bool {
        self.oldest.load(Relaxed) as u32 == NO_PAGE
    }
}

impl Ring {
    /// The page with this index in the chain.
    #[inline]
    pub(super) fn page(&self, pages: &impl Pages, index: u32) -> *mut PageHeader {
        match index {
            OWN_ROOM => self.room.page(),
            index => pages.page(index),
        }
    }

    /// Takes the page of `seen`, a value of `oldest`, out of the chain; `None` if `oldest` has
    /// changed, or if that is the last page and `last` is false. The page, which is at `page`, is
    /// the caller's then.
    ///
    /// # Safety
    ///
    /// `seen` names the page at `page`, of `pages`, which is the pool of all pages of this ring.
    /// `last` is only true if the caller may take the last page, as the type invariants say.
    #[cfg_attr(not(CONFIG_BLOG_PARTS), allow(unused_variables))]
    #[inline]
    unsafe fn pop_oldest(
        &self,
        pages: &impl Pages,
        page: *mut PageHeader,
        seen: u64,
        last: bool,
    ) -> Option<u32> {
        let (index, chain) = (seen as u32, &self.chain);
        // SAFETY: A header is valid, whatever the page is by now.
        let header = unsafe { &*page };
        // ORDERING: Acquire pairs with the store in `push`: with `next` comes what the
        // writer has stored before, `taken` in particular, which `withdraw` passes on to readers.
        let next = header.next.load(Acquire);
        if next == NO_PAGE && !last {
            return None;
        }
        let new = ((seen >> 32).wrapping_add(1) << 32) | u64::from(next);
        // INVARIANT: The chain starts at the next page now. If `oldest` is what it was, with its
        // tag, then the page has been the oldest one all the time since that was read; so `next`
        // belongs to its life in this chain, and did not change after it was set.
        // ORDERING: Release: who finds `next` in `oldest` finds that page's header reset, as the
        // load of `next` above found it. Acquire is for what follows here: the page is ours.
        (chain.oldest)
            .compare_exchange(seen, new, AcqRel, Relaxed)
            .ok()?;
        #[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
        if pages.counts() {
            // SAFETY: The page is ours now. Its last record came before the next page, whose index
            // was acquired; of the last page, the caller is the writer, or there is none.
            unsafe { super::count::count(pages, page) };
        }
        if index != OWN_ROOM {
            chain.pages.fetch_sub(1, Relaxed);
        }
        // The last step: after it, the writer may use its room again.
        header.withdraw();
        Some(index)
    }

    /// Whether the own room can take `room` bytes now, as it is in no chain.
    pub(super) fn has_room(&self, room: u32) -> bool {
        let own = self.room.header();
        // It may be just taken out, by a thief that hasn't withdrawn it yet.
        // ORDERING: `seq` acquires what that thief did.
        own.size() >= room && own.seq() == 0
    }
}

impl Writing<'_> {
    /// Adds a page, which has been reset, as the newest one. The cursor still has the one before,
    /// if there was any.
    #[inline]
    pub(super) fn push(&self, page: &NewPage) {
        let (Ring { chain, cursor, .. }, index) = (self.ring(), page.index);
        let seen = chain.oldest.load(Relaxed);
        if seen as u32 == NO_PAGE {
            let tag = (seen >> 32).wrapping_add(1) << 32;
            // ORDERING: Release: who finds the page in `oldest` finds its header reset.
            chain.oldest.store(tag | u64::from(index), Release);
        } else {
            // ORDERING: Release: see `pop_oldest`. From here on, the last page may be taken away;
            // all its records are there.
            cursor.header().next.store(index, Release);
        }
    }

    /// Takes the ring's own oldest page, if it has at least `room` bytes. Of a ring that holds more
    /// than `most` pages, some go back to the pool.
    ///
    /// # Safety
    ///
    /// `pages` is the pool of all pages of this ring.
    pub(super) unsafe fn reuse(&self, pages: &impl Pages, most: u32, room: u32) -> Option<NewPage> {
        let ring = self.ring();
        for tries in 1..=TRIES {
            let seen = ring.chain.oldest.load(Relaxed);
            if seen as u32 == NO_PAGE {
                // INVARIANT: By that of the chain, it is in none.
                let (index, at) = (OWN_ROOM, ring.room.page());
                return ring.has_room(room).then_some(NewPage { index, at });
            }
            let at = ring.page(pages, seen as u32);
            // SAFETY: As in `pop_oldest`.
            let header = unsafe { &*at };
            let last = header.next.load(Relaxed) == NO_PAGE;
            if last && header.size() < room {
                if ring.chain.oldest.load(Relaxed) != seen {
                    // A thief was faster, and the header was that of another ring's page.
                    continue;
                }
                // It would be lost for nothing.
                return None;
            }
            // SAFETY: By this function's requirement; the last page is the writer's to take.
            let Some(index) = (unsafe { ring.pop_oldest(pages, at, seen, last) }) else {
                continue;
            };
            let is_room = index == OWN_ROOM;
            if last || !is_room && (ring.pages() < most || tries == TRIES) {
                // INVARIANT: The ring had it till now.
                return Some(NewPage { index, at });
            }
            // The room is used again when there is nothing else.
            if !is_room {
                // The ring's limit was lowered.
                // SAFETY: The page was taken out: it is in no ring, and ours.
                unsafe { pages.put(index) };
            }
        }
        None
    }
}

impl Ring {
    /// Pages of the pool that the ring holds; a moment old, and never less than it holds.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.chain.pages.load(Relaxed)
    }

    /// Whether it holds nothing, not even in its own room; a moment old.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }

    /// Index of the oldest page that the ring holds, for readers; it may be gone by now.
    pub fn oldest_page(&self) -> Option<u32> {
        // ORDERING: Acquire: the header of the page that this names has been reset for this ring.
        let index = self.chain.oldest.load(Acquire) as u32;
        (index != NO_PAGE).then_some(index)
    }

    /// Takes the oldest page of the pool out of the ring, unless it is the current one: of any
    /// ring, by anybody, in any context. The ring's writer notices nothing. What is older, in the
    /// ring's own room, goes with it.
    ///
    /// What it costs is that page's records; who decides on it sees to it that the ring can spare
    /// them. The page is the caller's then.
    ///
    /// # Safety
    ///
    /// `pages` is the pool of all pages of this ring.
    pub unsafe fn steal(&self, pages: &impl Pages) -> Option<u32> {
        // SAFETY: By this function's requirement.
        unsafe { self.take_oldest(pages, TRIES, false) }
    }

    /// Takes the oldest page of the pool out of a retired ring, be it the last one. `None`: the
    /// ring is empty now.
    ///
    /// # Safety
    ///
    /// As for [`Self::steal`], and the caller has taken the ring out of the queue of retired
    /// rings, so it is nobody else's.
    pub unsafe fn steal_last(&self, pages: &impl Pages) -> Option<u32> {
        // Nobody adds to the chain, and each failure is that of a thief who made it shorter.
        // SAFETY: By this function's requirement.
        unsafe { self.take_oldest(pages, u32::MAX, true) }
    }

    /// # Safety
    ///
    /// As for [`Self::pop_oldest`].
    unsafe fn take_oldest(&self, pages: &impl Pages, tries: u32, last: bool) -> Option<u32> {
        for _ in 0..tries {
            // ORDERING: Acquire: the header of the page that this names has been reset for this
            // ring. It pairs with the stores in `pop_oldest` and `push`.
            let seen = self.chain.oldest.load(Acquire);
            if seen as u32 == NO_PAGE {
                return None;
            }
            // SAFETY: By this function's requirement.
            match unsafe { self.pop_oldest(pages, self.page(pages, seen as u32), seen, last) } {
                // It stays the ring's.
                Some(OWN_ROOM) => (),
                // Unchanged: it is the last page.
                None if self.chain.oldest.load(Relaxed) == seen => return None,
                None => (),
                index => return index,
            }
        }
        None
    }
}
