// SPDX-License-Identifier: GPL-2.0

//! Pages of the kernel's memory: the Rust side of `pages.c`.
//!
//! Crash tools find what is in such pages, and in [`VVec`], whose pages are single ones, too.
//! makedumpfile knows only the slabs and blocks of pages of older kernels. It takes all pages of
//! these but the first for a process's, and may leave them out.

use core::ops::Deref;

use crate::sys::prelude::*;

unsafe extern "C" {
    /// Pages of zeroes whose addresses follow each other; null if there are none. Process context.
    #[link_name = "blog_pages_alloc"]
    pub(crate) safe fn alloc_pages(count: u32) -> *mut c_void;

    /// Frees them: they are of [`alloc_pages`], and nobody uses them any more.
    #[link_name = "blog_pages_free"]
    pub(crate) fn free_pages(pages: *mut u8);
}

/// A value that crash tools find, in a page of its own. It is never dropped.
///
/// # Invariants
///
/// The value is at the start of a page of [`alloc_pages`], which this owns.
pub(crate) struct Kept<T>(NonNull<T>);

// SAFETY: It owns the value, as a box does.
unsafe impl<T: Send> Send for Kept<T> {}
// SAFETY: It lends what it owns, as a box does.
unsafe impl<T: Sync> Sync for Kept<T> {}

impl<T> Kept<T> {
    /// Process context, and not where reclaim waits for the caller.
    pub(crate) fn new(value: T) -> Result<Self> {
        const { assert!(!mem::needs_drop::<T>() && size_of::<T>() <= PAGE_SIZE) };
        let page = NonNull::new(alloc_pages(1).cast::<T>()).ok_or(ENOMEM)?;
        // SAFETY: The page is new, aligned, and at least as large: see the assertion.
        unsafe { page.write(value) };
        // INVARIANT: It was just written.
        Ok(Self(page))
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type invariants.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants; nobody uses it any more.
        unsafe { free_pages(self.0.as_ptr().cast()) };
    }
}
