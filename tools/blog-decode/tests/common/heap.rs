// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Counts what is allocated, so the figures are the same on every machine. For programs that do one
//! thing at a time; a program with this module has its allocator.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Bytes that are allocated, the most that ever were, and all that ever were, given back or not.
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static ALL: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: All is done by `System`, with what the caller has promised for it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        ALL.fetch_add(layout.size(), Relaxed);
        // SAFETY: As the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: As the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that `work` needs at a time.
pub(crate) fn most_of(work: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    work();
    MOST.load(Relaxed) - before
}

/// All bytes that `work` allocates. What it allocates again and again counts again and again, and so
/// does what it copies to have more room.
#[allow(dead_code)]
pub(crate) fn all_of(work: impl FnOnce()) -> usize {
    let before = ALL.load(Relaxed);
    work();
    ALL.load(Relaxed) - before
}
