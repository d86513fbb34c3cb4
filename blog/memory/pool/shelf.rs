// SPDX-License-Identifier: GPL-2.0

//! A shelf: what a CPU has at hand, and what it counts.
//!
//! Nothing depends on where a caller runs: any CPU may use any shelf, a task may be moved in the
//! middle, and an NMI may come. But as long as each finds on its own shelf what it needs, no cache
//! line moves between CPUs.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::Relaxed, //
};
use kernel::blog::wire::record::LOST_CAUSES;

use super::{
    claim::{
        Claimed,
        Watch, //
    },
    list::List,
    slab::Slab, //
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
    pub(super) fn get(&self) -> (u64, [u64; LOST_CAUSES]) {
        (
            self.records.load(Relaxed),
            self.lost.each_ref().map(|n| n.load(Relaxed)),
        )
    }
}

/// What rings got here.
#[derive(Clone, Copy)]
pub(crate) enum Hit {
    /// A chunk of a page that was split.
    Chunk,
    /// A free page.
    Page,
    /// A free page of another shelf.
    Other,
    /// A page or chunk of a task that has ended.
    Retired,
    /// A page or chunk of a live ring.
    Stolen,
    /// Nothing.
    Dry,
}

/// How many kinds of [`Hit`] there are.
pub(crate) const HITS: usize = Hit::Dry as usize + 1;

/// What is on a shelf. With the claim, it is a cache line, and all that other CPUs look at.
pub(crate) struct Lists {
    /// Free pages.
    pub(crate) pages: List,
    /// Free chunks.
    pub(super) slab: Slab,
    /// Free rings.
    pub(super) rings: List,
    /// Rings whose task has ended, those that ended first in front.
    pub(super) retired: List,
    /// When the first of these ended.
    pub(super) oldest: AtomicU64,
    /// Rings that were taken here, less those that retired here: of use as the sum of all shelves,
    /// modulo 2^32. Stored to by anybody.
    pub(super) live: AtomicU32,
}

const _: () = assert!(size_of::<Claimed<Lists>>() == 64);

/// What a CPU has at hand.
#[repr(C, align(64))]
pub(crate) struct Shelf {
    pub(crate) lists: Claimed<Lists>,
    pub(super) watch: Watch,
    /// The shelf whose retired rings are used up for this CPU, and for how many times more.
    pub(super) source: AtomicU32,
    pub(super) times: AtomicU32,
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
                slab: Slab::new(),
                rings: List::new(),
                retired: List::new(),
                oldest: AtomicU64::new(0),
                live: AtomicU32::new(0),
            }),
            watch: Watch::new(),
            source: AtomicU32::new(n),
            times: AtomicU32::new(0),
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
