// SPDX-License-Identifier: GPL-2.0

//! A magazine: a few free pages that one CPU has at hand.
//!
//! A page comes out by one exchange of a word in a cache line that other CPUs rarely touch. Nothing
//! depends on who runs where: any CPU may use any magazine, a task may be moved in the middle, and
//! an NMI may come. Needs nothing but `core`, and compiles on the host unchanged.

use core::sync::atomic::{
    AtomicU32,
    Ordering::{
        Acquire,
        Relaxed,
        Release, //
    }, //
};

use super::NONE;

/// The most pages that a magazine holds.
pub(crate) const ROUNDS: usize = 8;

/// Free pages of a CPU.
///
/// # Invariants
///
/// Each of `pages` is [`NONE`] or a page that is nobody else's.
#[repr(C, align(64))]
pub(crate) struct Magazine {
    pages: [AtomicU32; ROUNDS],
    hits: AtomicU32,
}

impl Magazine {
    /// Makes an empty magazine.
    pub(crate) const fn new() -> Self {
        Self {
            pages: [const { AtomicU32::new(NONE) }; ROUNDS],
            hits: AtomicU32::new(0),
        }
    }

    /// Takes a page.
    pub(crate) fn take(&self) -> Option<u32> {
        for place in &self.pages {
            if place.load(Relaxed) == NONE {
                continue;
            }
            // ORDERING: Acquire pairs with the exchange in `give`: what was done to the page before
            // is visible.
            let page = place.swap(NONE, Acquire);
            if page != NONE {
                return Some(page);
            }
        }
        None
    }

    /// Puts a page in, where there are fewer than `most`.
    pub(crate) fn give(&self, most: u32, page: u32) -> bool {
        self.pages.iter().take(most as usize).any(|place| {
            // ORDERING: Release: see `take`.
            place.load(Relaxed) == NONE
                && place.compare_exchange(NONE, page, Release, Relaxed).is_ok()
        })
    }

    /// Number of pages; a moment old.
    pub(crate) fn pages(&self) -> u32 {
        let held = |place: &&AtomicU32| place.load(Relaxed) != NONE;
        self.pages.iter().filter(held).count() as u32
    }

    /// Counts a page that a ring took here.
    pub(crate) fn hit(&self) {
        self.hits.fetch_add(1, Relaxed);
    }

    /// Pages that rings took here, modulo 2^32.
    pub(super) fn hits(&self) -> u32 {
        self.hits.load(Relaxed)
    }
}
