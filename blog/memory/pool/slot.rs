// SPDX-License-Identifier: GPL-2.0

//! The place of a page: its memory and its link.
//!
//! Slots stay in their places as long as the component's memory lives. BLog may give the page in
//! one back to the kernel, and another one may come. Rings know a page by the number of its slot.
//!
//! Each page begins with a header, whatever it is: that of a page of rings, or of tables of tasks,
//! has no position, for good. So a reader or thief that has found the page before finds out.

use core::{
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        Ordering::*, //
    }, //
};
use kernel::blog::ring::{
    PageHeader,
    Ring, //
};
#[cfg(any(CONFIG_BLOG_ROOT, not(CONFIG_RUST)))]
use {
    core::mem::{
        offset_of,
        size_of, //
    },
    kernel::blog::wire::dump::SlotLayout,
};

use super::NONE;

/// Place for a page.
///
/// # Invariants
///
/// `page` is null, or memory of a page's size with a header at its start, which stays as long as
/// any caller that has found it here may look at it.
pub(crate) struct Slot {
    page: AtomicPtr<PageHeader>,
    /// In the `n`-th slot, the first ring in the `n`-th page that was made rings, or null: see
    /// [`super::Store`], whose it is.
    pub(crate) rings: AtomicPtr<Ring>,
    /// The page after this one in a list of free pages.
    pub(super) link: AtomicU32,
}

impl Slot {
    /// Where crash tools find what they need: see `rust/kernel/blog/wire/dump.rs`.
    #[cfg(any(CONFIG_BLOG_ROOT, not(CONFIG_RUST)))]
    pub(crate) const LAYOUT: SlotLayout = SlotLayout {
        size: size_of::<Self>() as u32,
        page: offset_of!(Self, page) as u32,
        shape: 0,
        rings: offset_of!(Self, rings) as u32,
    };

    pub(crate) const fn new() -> Self {
        Self {
            page: AtomicPtr::new(ptr::null_mut()),
            rings: AtomicPtr::new(ptr::null_mut()),
            link: AtomicU32::new(NONE),
        }
    }

    /// Puts a page in.
    ///
    /// # Safety
    ///
    /// The slot has none. `page` is valid for `size` bytes, initialised, aligned to 8, and nobody
    /// else's.
    pub(crate) unsafe fn fill(&self, page: *mut PageHeader, size: u32) {
        // SAFETY: By this function's requirement.
        unsafe { PageHeader::format(page, size) };
        // INVARIANT: There is a header at its start.
        // ORDERING: Release publishes the header.
        self.page.store(page, Release);
    }

    /// Takes the page out, which is the caller's.
    pub(crate) fn empty(&self) -> *mut PageHeader {
        self.page.swap(ptr::null_mut(), Relaxed)
    }

    /// The page, or null.
    pub(crate) fn page(&self) -> *mut PageHeader {
        // ORDERING: Acquire pairs with `fill`: the header is there.
        self.page.load(Acquire)
    }

    /// Copies the page of `size` bytes, if it is at position `seq` of a ring, as far as it is
    /// published, to `to`; returns the number of bytes. The caller must not sleep meanwhile.
    pub(crate) fn copy(&self, size: u32, seq: u64, to: &mut [u8]) -> Option<usize> {
        let page = self.page();
        if page.is_null() {
            return None;
        }
        // SAFETY: By the type invariants; what has become something else has no position.
        unsafe { PageHeader::copy(page, size, seq, to) }
    }
}
