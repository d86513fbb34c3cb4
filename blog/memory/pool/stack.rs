// SPDX-License-Identifier: GPL-2.0

//! Lock-free stacks of indices.
//!
//! Free pages, split ones, free rings and free task tables are in them. Needs nothing but `core`,
//! and compiles on the host unchanged. Any context, NMI included.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::{
        Acquire,
        Relaxed,
        Release, //
    }, //
};

use super::{
    NONE,
    TRIES, //
};

/// A lock-free stack of indices (Treiber's), safe against ABA.
///
/// # Invariants
///
/// - The low half of `head` is the top index, or [`NONE`]; the high half grows with each push.
/// - An index is at most once in the stacks that use the same link; its link is the one below it.
pub(crate) struct Stack {
    head: AtomicU64,
}

impl Stack {
    /// Makes an empty stack.
    pub(crate) const fn new() -> Self {
        Self {
            head: AtomicU64::new(NONE as u64),
        }
    }

    /// Puts `index` on top, with its link as `next` finds it. Indices that have none are dropped.
    pub(crate) fn push<'a>(&self, next: impl Fn(u32) -> Option<&'a AtomicU32>, index: u32) {
        let Some(link) = next(index) else {
            return;
        };
        let mut head = self.head.load(Relaxed);
        loop {
            link.store(head as u32, Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(index);
            // ORDERING: Release publishes the link, and all that the caller did to what the index
            // names, to the `pop` that takes it.
            match self.head.compare_exchange_weak(head, new, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes the top index.
    pub(crate) fn pop<'a>(&self, next: impl Fn(u32) -> Option<&'a AtomicU32>) -> Option<u32> {
        // ORDERING: Acquire, here and when the exchange fails, makes the link of the top index
        // visible. The link may be stale when the index has been taken meanwhile. If it is on top
        // again, then it was pushed again, so the high half of `head` has changed and the exchange
        // fails.
        let mut head = self.head.load(Acquire);
        for _ in 0..TRIES {
            let below = next(head as u32)?.load(Relaxed);
            let new = head >> 32 << 32 | u64::from(below);
            match self.head.compare_exchange_weak(head, new, Acquire, Acquire) {
                Ok(_) => return Some(head as u32),
                Err(now) => head = now,
            }
        }
        None
    }

    /// The top index, or [`NONE`]. It may be gone by now.
    pub(crate) fn top(&self) -> u32 {
        self.head.load(Relaxed) as u32
    }
}

/// A stack that knows how many indices it has.
pub(crate) struct List {
    stack: Stack,
    len: AtomicU32,
}

impl List {
    /// Makes an empty one.
    pub(crate) const fn new() -> Self {
        Self {
            stack: Stack::new(),
            len: AtomicU32::new(0),
        }
    }

    /// Number of indices; a moment old, and for a moment too high.
    pub(crate) fn len(&self) -> u32 {
        self.len.load(Relaxed)
    }

    /// As [`Stack::push`].
    pub(crate) fn push<'a>(&self, next: impl Fn(u32) -> Option<&'a AtomicU32>, index: u32) {
        // Counted before it can be taken, so that the count never falls below zero.
        self.len.fetch_add(1, Relaxed);
        self.stack.push(next, index);
    }

    /// As [`Stack::pop`].
    pub(crate) fn pop<'a>(&self, next: impl Fn(u32) -> Option<&'a AtomicU32>) -> Option<u32> {
        let index = self.stack.pop(next)?;
        self.len.fetch_sub(1, Relaxed);
        Some(index)
    }

    /// Takes an index for the caller, and up to `more` for another list.
    pub(crate) fn share<'a>(
        &self,
        next: impl Fn(u32) -> Option<&'a AtomicU32> + Copy,
        to: &Self,
        more: u32,
    ) -> Option<u32> {
        let index = self.pop(next)?;
        for _ in 0..more {
            let Some(index) = self.pop(next) else {
                break;
            };
            to.push(next, index);
        }
        Some(index)
    }
}
