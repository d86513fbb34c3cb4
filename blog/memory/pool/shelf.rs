// SPDX-License-Identifier: GPL-2.0

//! A shelf: the memory that a CPU has at hand, and its counters; and which shelves have something.
//!
//! Nothing depends on the caller's CPU: any CPU may use any shelf, a task may be moved in the
//! middle, and an NMI may come. But as long as each CPU finds memory on its own shelf, no cache
//! line moves between CPUs.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::Relaxed, //
};
use kernel::blog::wire::record::LOST_CAUSES;

use super::{
    claim::Claimed,
    list::List,
    LOOKS, //
};

/// What went with rings that were given to another task.
///
/// Crash tools read it: see `rust/kernel/blog/wire/dump.rs`.
#[repr(C)]
pub(crate) struct Gone {
    records: AtomicU64,
    lost: [AtomicU64; LOST_CAUSES],
}

impl Gone {
    /// Counts what a ring had.
    pub(super) fn add(&self, records: u64, lost: [u64; LOST_CAUSES]) {
        self.records.fetch_add(records, Relaxed);
        for (gone, lost) in self.lost.iter().zip(lost).filter(|(_, lost)| *lost != 0) {
            gone.fetch_add(lost, Relaxed);
        }
    }

    /// Records, and losses by cause.
    pub(crate) fn get(&self) -> (u64, [u64; LOST_CAUSES]) {
        (
            self.records.load(Relaxed),
            self.lost.each_ref().map(|n| n.load(Relaxed)),
        )
    }
}

/// What rings got here.
#[derive(Clone, Copy)]
pub(crate) enum Hit {
    /// A free page.
    Page,
    /// A free page of another shelf.
    Other,
    /// A page of a task that has ended.
    Retired,
    /// A page of a live ring.
    Stolen,
    /// Nothing.
    Dry,
}

pub(crate) const HITS: usize = Hit::Dry as usize + 1;

/// What is on a shelf. With the claim, it is a cache line, and all that other CPUs look at.
pub(crate) struct Lists {
    /// Free pages.
    pub(crate) pages: List,
    /// Free rings.
    pub(crate) rings: List,
    /// Rings whose task has ended, with what is in their own room; those that ended first in front.
    pub(crate) ended: List,
    /// The same, of those that have pages.
    pub(crate) retired: List,
    /// Rings that were taken here, less those that retired here: of use as the sum of all shelves,
    /// modulo 2^32. Stored to by anybody.
    pub(super) live: AtomicU32,
}

const _: () = assert!(size_of::<Claimed<Lists>>() == 64);
const _: () = assert!(size_of::<Shelf>() == 192);

/// What a CPU has at hand.
#[repr(C, align(64))]
pub(crate) struct Shelf {
    pub(crate) lists: Claimed<Lists>,
    /// The ring to look at first, for one that holds more than its share.
    pub(super) cursor: AtomicU32,
    /// How often, by [`Hit`].
    pub(super) hits: [AtomicU64; HITS],
    pub(crate) gone: Gone,
}

impl Shelf {
    /// Makes an empty shelf, the `n`th one.
    pub(crate) const fn new(n: u32) -> Self {
        Self {
            lists: Claimed::new(Lists {
                pages: List::new(),
                rings: List::new(),
                ended: List::new(),
                retired: List::new(),
                live: AtomicU32::new(0),
            }),
            // Not all begin to look at the same place.
            cursor: AtomicU32::new(n * 8),
            hits: [const { AtomicU64::new(0) }; HITS],
            gone: Gone {
                records: AtomicU64::new(0),
                lost: [const { AtomicU64::new(0) }; LOST_CAUSES],
            },
        }
    }

    /// Counts what a ring got.
    pub(super) fn count(&self, hit: Hit) {
        self.hits[hit as usize].fetch_add(1, Relaxed);
    }
}

/// Most shelves: bits of a [`Hint`].
pub(crate) const MOST_SHELVES: usize = 64;

/// A bit for each shelf, set where there may be something.
///
/// All CPUs look at it when their own shelf is empty, so it changes only when it is wrong: a bit is
/// set with the first thing that comes, and cleared by a call that came in vain. Both do so while
/// they hold the shelf.
///
/// # Invariants
///
/// A shelf whose bit is clear has nothing, or a few pieces that came just now, or is held by a call
/// that brings something.
pub(crate) struct Hint(AtomicU64);

impl Hint {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Says that shelf `n` has something. The caller holds it.
    pub(crate) fn set(&self, n: usize) {
        let bit = 1 << n;
        if self.0.load(Relaxed) & bit == 0 {
            self.0.fetch_or(bit, Relaxed);
        }
    }

    /// Says that shelf `n` has nothing. The caller holds it.
    fn clear(&self, n: usize) {
        self.0.fetch_and(!(1 << n), Relaxed);
    }

    /// What `take` gets from the shelf `own`, if that `has` anything, or from a few others that may
    /// have something. `at` leads to a shelf by its number.
    #[inline]
    pub(crate) fn find<'a, L: 'a, T>(
        &self,
        own: usize,
        at: impl Fn(usize) -> &'a Claimed<L>,
        has: impl Fn(&L) -> bool,
        take: impl Fn(usize, &L) -> Option<T>,
    ) -> Option<T> {
        let from = |n: usize| {
            let shelf = at(n).claim()?;
            if has(&shelf) {
                return take(n, &shelf);
            }
            self.clear(n);
            None
        };
        let mine = match has(at(own).look()) {
            true => from(own),
            false => None,
        };
        mine.or_else(|| self.elsewhere(own, from))
    }

    /// What `from` finds on a few shelves that may have something, from `own` on. Not inlined, so
    /// that a caller who finds something at hand doesn't pay for this.
    #[inline(never)]
    fn elsewhere<T>(&self, own: usize, from: impl Fn(usize) -> Option<T>) -> Option<T> {
        let mut bits = self.0.load(Relaxed).rotate_right(own as u32);
        let next = || {
            let next = bits.trailing_zeros() as usize;
            // The lowest bit is no more.
            bits &= bits.wrapping_sub(1);
            (next < MOST_SHELVES).then_some((own + next) % MOST_SHELVES)
        };
        core::iter::from_fn(next).take(LOOKS).find_map(from)
    }
}
