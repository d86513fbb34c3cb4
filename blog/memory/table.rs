// SPDX-License-Identifier: GPL-2.0

//! A growing table whose parts never move.
//!
//! Log calls look up pages and rings in it by index, in any context, while process context makes it
//! larger. Its parts are anywhere; an array of pointers leads to them, which is replaced by a
//! longer one if needed. A look-up takes three loads, takes no lock, and never waits.

use core::sync::atomic::{
    AtomicPtr,
    AtomicU32,
    Ordering::*, //
};
use kernel::blog::wire::dump;

/// A table of parts.
///
/// # Invariants
///
/// - `parts` leads to at least `len` pointers, each of which is null or leads to a part.
/// - Parts and arrays of pointers stay as long as the table.
pub(crate) struct Table<T> {
    parts: AtomicPtr<AtomicPtr<T>>,
    len: AtomicU32,
}

impl<T> Table<T> {
    /// Makes a table of parts that these pointers lead to.
    pub(super) fn new(parts: &'static [AtomicPtr<T>]) -> Self {
        Self {
            parts: AtomicPtr::new(parts.as_ptr().cast_mut()),
            len: AtomicU32::new(parts.len() as u32),
        }
    }

    /// The table as crash tools find it: its parts are arrays of `each` values of `stride` bytes.
    pub(super) fn root(&self, each: usize, stride: usize) -> dump::TableRoot {
        dump::TableRoot {
            chunks: self.parts.load(Relaxed) as u64,
            capacity: self.len(),
            per_chunk: each as u32,
            stride: stride as u32,
            doubling: 0,
        }
    }

    /// How many parts there can be.
    pub(super) fn len(&self) -> u32 {
        // ORDERING: Acquire pairs with the store in `widen`: there is an array of that length.
        self.len.load(Acquire)
    }

    fn pointer(&self, n: u32) -> Option<&AtomicPtr<T>> {
        if n >= self.len() {
            return None;
        }
        // ORDERING: Acquire: the array's pointers are there.
        let parts = self.parts.load(Acquire);
        // SAFETY: By the type invariants, there are more than `n`, and they stay.
        Some(unsafe { &*parts.add(n as usize) })
    }

    /// A part. Any context.
    pub(super) fn get(&self, n: u32) -> Option<&T> {
        // ORDERING: Acquire pairs with the store in `set`: the part is there.
        let part = self.pointer(n)?.load(Acquire);
        // SAFETY: By the type invariants, it is null or leads to a part, which stays.
        unsafe { part.as_ref() }
    }

    /// Puts a part in. Any context, but not while the table is widened.
    ///
    /// # Safety
    ///
    /// The part stays as long as the table.
    pub(super) unsafe fn set(&self, n: u32, part: *mut T) {
        if let Some(pointer) = self.pointer(n) {
            // INVARIANT: By this function's requirement.
            // ORDERING: Release publishes the part.
            pointer.store(part, Release);
        }
    }

    /// Goes on with a longer array of pointers, of nulls. One at a time.
    pub(super) fn widen(&self, longer: &'static [AtomicPtr<T>]) {
        for (n, to) in (0..self.len()).zip(longer) {
            let part = self.pointer(n).map(|pointer| pointer.load(Relaxed));
            to.store(part.unwrap_or(core::ptr::null_mut()), Relaxed);
        }
        // INVARIANT: It has what the old one had.
        // ORDERING: Release publishes its pointers; and it comes before its length, so that nobody,
        // nor a dump, finds an array that is shorter than that.
        self.parts.store(longer.as_ptr().cast_mut(), Release);
        self.len.store(longer.len() as u32, Release);
    }
}
