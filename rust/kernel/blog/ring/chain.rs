// SPDX-License-Identifier: GPL-2.0

//! The chain of a ring's pages, from the oldest to the current one.

use super::{
    busy::Writing,
    page::{
        PageHeader,
        Pages,
        NO_PAGE, //
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
/// - Only the ring's writer, or who owns a ring that has none, adds a page or takes the last one.
/// - `pages` and `held` are the number and the size of those pages, or more while one is being
///   added or taken.
#[repr(C)]
pub(super) struct RingChain {
    oldest: AtomicU64,
    pub(super) pages: AtomicU32,
    pub(super) held: AtomicU32,
}

/// Counts the records of a page that leaves its ring. By itself, as page turns are rarely counted.
///
/// # Safety
///
/// As for [`PageHeader::count`], of the page with this index.
#[cold]
#[inline(never)]
unsafe fn count<P: Pages>(pages: &P, index: u32) {
    // SAFETY: By this function's requirement.
    unsafe {
        PageHeader::count(pages.page(index), |site, n| {
            if site != 0 && n != 0 {
                pages.count(site, n);
            }
        })
    };
}

impl RingChain {
    /// Without a page.
    pub(super) const fn new() -> Self {
        Self {
            oldest: AtomicU64::new(NO_PAGE as u64),
            pages: AtomicU32::new(0),
            held: AtomicU32::new(0),
        }
    }

    /// Takes the page of `seen`, a value of `oldest`, out of the chain; `None` if `oldest` has
    /// changed, or if that is the last page and `last` is false. The page is the caller's then.
    ///
    /// # Safety
    ///
    /// `pages` is the pool of all pages of this ring. `last` is only true if the caller may take
    /// the last page, as the type invariants say.
    unsafe fn cut(&self, pages: &impl Pages, seen: u64, last: bool) -> Option<u32> {
        let index = seen as u32;
        if index == NO_PAGE {
            return None;
        }
        let header = pages.header(index);
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
        self.oldest
            .compare_exchange(seen, new, AcqRel, Relaxed)
            .ok()?;
        let size = header.size();
        if pages.counts() {
            // SAFETY: The page is ours now. Its last record came before the next page, whose index
            // was acquired; of the last page, the caller is the writer, or there is none.
            unsafe { count(pages, index) };
        }
        header.withdraw();
        self.held.fetch_sub(size, Relaxed);
        self.pages.fetch_sub(1, Relaxed);
        Some(index)
    }
}

impl Writing<'_> {
    /// Adds a page, which has been reset, as the newest one. The cursor still has the one before,
    /// if there was any.
    #[inline]
    pub(super) fn push(&self, page: &NewPage) {
        let (Ring { chain, cursor, .. }, index) = (self.ring(), page.index());
        let seen = chain.oldest.load(Relaxed);
        if seen as u32 == NO_PAGE {
            let tag = (seen >> 32).wrapping_add(1) << 32;
            // ORDERING: Release: who finds the page in `oldest` finds its header reset.
            chain.oldest.store(tag | u64::from(index), Release);
        } else {
            // ORDERING: Release: see `cut`. From here on, the last page may be taken away; all its
            // records are there.
            cursor.header().next.store(index, Release);
        }
    }

    /// Takes the ring's own oldest page, if it has at least `room`.
    ///
    /// # Safety
    ///
    /// `pages` is the pool of all pages of this ring.
    pub(super) unsafe fn reuse(&self, pages: &impl Pages, max: u32, room: u32) -> Option<u32> {
        let chain = &self.ring().chain;
        // SAFETY: The page has been cut out: it is in no ring, and ours.
        let give_back = |index| unsafe { pages.put(index) };
        let mut asked = false;
        for tries in 1..=TRIES {
            let seen = chain.oldest.load(Relaxed);
            if seen as u32 == NO_PAGE {
                return None;
            }
            let header = pages.header(seen as u32);
            let size = header.size();
            let last = header.next.load(Relaxed) == NO_PAGE;
            if last && size < room {
                if chain.oldest.load(Relaxed) != seen {
                    // A thief was faster, and the header was that of another ring's page.
                    continue;
                }
                // It would be lost for nothing.
                return None;
            }
            // SAFETY: By this function's requirement; the last page is the writer's to take.
            let Some(index) = (unsafe { chain.cut(pages, seen, last) }) else {
                continue;
            };
            let left = max.saturating_sub(chain.held.load(Relaxed));
            if last || size >= room && size == pages.largest() && (size <= left || tries == TRIES) {
                return Some(index);
            }
            // Rather a whole page instead of a small one; but it is asked for once.
            if size < pages.largest() && left >= pages.largest() && !asked {
                asked = true;
                if let Some(larger) = pages.take(chain.held.load(Relaxed), room, left) {
                    give_back(index);
                    return Some(larger);
                }
            }
            if size >= room && size <= left {
                return Some(index);
            }
            // Too small, or the ring's limit was lowered.
            give_back(index);
        }
        None
    }
}

impl Ring {
    /// Pages that the ring holds; a moment old.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.chain.pages.load(Relaxed)
    }

    /// Bytes of the pages that the ring holds; a moment old, and never less than it holds.
    #[inline]
    pub fn held(&self) -> u32 {
        self.chain.held.load(Relaxed)
    }

    /// Index of the oldest page that the ring holds, for readers; it may be gone by now.
    pub fn oldest_page(&self) -> Option<u32> {
        // ORDERING: Acquire: the header of the page that this names has been reset for this ring.
        let index = self.chain.oldest.load(Acquire) as u32;
        (index != NO_PAGE).then_some(index)
    }

    /// Takes the oldest page out of the ring, unless it is the current one: of any ring, by
    /// anybody, in any context. The ring's writer notices nothing.
    ///
    /// What it costs is that page's records; who decides on it sees to it that the ring can spare
    /// them. The page is the caller's then.
    ///
    /// # Safety
    ///
    /// `pages` is the pool of all pages of this ring.
    pub unsafe fn steal(&self, pages: &impl Pages) -> Option<u32> {
        for _ in 0..TRIES {
            // ORDERING: Acquire: the header of the page that this names has been reset for this
            // ring. It pairs with the stores in `cut` and `push`.
            let seen = self.chain.oldest.load(Acquire);
            // SAFETY: By this function's requirement.
            let index = unsafe { self.chain.cut(pages, seen, false) };
            // Unchanged: it is the last page, or there is none.
            if index.is_some() || self.chain.oldest.load(Relaxed) == seen {
                return index;
            }
        }
        None
    }

    /// Takes the oldest page of a retired ring, be it the last one.
    ///
    /// # Safety
    ///
    /// As for [`Self::steal`], and the caller has taken the ring out of the queue of retired
    /// rings, so it is nobody else's.
    pub unsafe fn steal_last(&self, pages: &impl Pages) -> Option<u32> {
        // Nobody adds to the chain, and where `cut` fails, another thief has made it shorter.
        loop {
            // ORDERING: As in `steal`.
            let seen = self.chain.oldest.load(Acquire);
            if seen as u32 == NO_PAGE {
                return None;
            }
            // SAFETY: By this function's requirements.
            if let Some(index) = unsafe { self.chain.cut(pages, seen, true) } {
                return Some(index);
            }
        }
    }
}
