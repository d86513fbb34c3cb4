// SPDX-License-Identifier: GPL-2.0

//! Whole pages of the kernel's memory. All of BLog's memory is in such pages, and counted in them.
//!
//! A [`Block`] is a number of pages whose addresses follow each other. It holds arrays, one after
//! the other ([`Rest`]), which go with it. Process context.

use kernel::blog::wire::page::PAGE_HEADER_SIZE;

use super::budget;
#[cfg(CONFIG_BLOG_PARTS)]
use super::source;
use crate::sys::{
    pages,
    prelude::*, //
};

pub(crate) const fn pages_for(bytes: usize) -> u32 {
    bytes.div_ceil(PAGE_SIZE) as u32
}

/// Pages that BLog has of the kernel, which are counted as long as they are there; or one of
/// [`source`], which isn't.
///
/// # Invariants
///
/// `at` leads to `pages` pages of `sys/pages.c`, or one of [`source`], which this owns.
pub(crate) struct Block {
    at: NonNull<u8>,
    pages: u32,
}

// SAFETY: It owns what it points to.
unsafe impl Send for Block {}
// SAFETY: With a shared reference to it, nothing is done to its memory.
unsafe impl Sync for Block {}

impl Block {
    /// Takes `pages` pages of zeroes. `ENOSPC` beyond the limit for all, `ENOMEM` where the machine
    /// has none.
    pub(crate) fn new(pages: u32) -> Result<Self> {
        budget::take(pages)?;
        match NonNull::new(pages::alloc_pages(pages)) {
            // INVARIANT: They are there, and nobody else's.
            Some(at) => Ok(Self {
                at: at.cast(),
                pages,
            }),
            None => {
                budget::give(pages);
                Err(ENOMEM)
            }
        }
    }

    /// The same, for a page of a component: one of [`source`], as long as there are any.
    pub(super) fn of_component() -> Result<Self> {
        #[cfg(CONFIG_BLOG_PARTS)]
        if let Some(at) = (source::get().take)() {
            // INVARIANT: It is there, and nobody else's.
            return Ok(Self { at, pages: 1 });
        }
        Self::new(1)
    }

    /// Lets it go: a single page, which stays counted until it comes back out of a [`Chain`].
    pub(crate) fn into_page(self) -> *mut u8 {
        let at = self.at();
        mem::forget(self);
        at
    }

    pub(crate) fn at(&self) -> *mut u8 {
        self.at.as_ptr()
    }

    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// All its memory, for arrays.
    pub(crate) fn rest(&mut self) -> Rest {
        Rest {
            at: self.at(),
            bytes: self.pages as usize * PAGE_SIZE,
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        #[cfg(CONFIG_BLOG_PARTS)]
        if (source::get().has)(self.at()) {
            // SAFETY: By the type invariants; it is nobody's any more.
            return unsafe { (source::get().give)(self.at()) };
        }
        // SAFETY: By the type invariants; they are nobody's any more.
        unsafe { pages::free_pages(self.at()) };
        budget::give(self.pages);
    }
}

/// Adds to `bytes` what an array of `n` values takes in a block.
pub(super) const fn add_array<T>(bytes: usize, n: usize) -> usize {
    bytes.next_multiple_of(align_of::<T>()) + n * size_of::<T>()
}

/// What is left of a block.
pub(crate) struct Rest {
    at: *mut u8,
    bytes: usize,
}

impl Rest {
    /// Takes room for `n` values; `ENOMEM` where there isn't so much.
    pub(super) fn room<T>(&mut self, n: usize) -> Result<NonNull<T>> {
        let skip = self.at.addr().wrapping_neg() % align_of::<T>();
        let bytes = n
            .checked_mul(size_of::<T>())
            .and_then(|bytes| bytes.checked_add(skip))
            .filter(|bytes| *bytes <= self.bytes)
            .ok_or(ENOMEM)?;
        let room = NonNull::new(self.at.wrapping_add(skip).cast()).ok_or(ENOMEM)?;
        self.at = self.at.wrapping_add(bytes);
        self.bytes -= bytes;
        Ok(room)
    }

    /// Makes an array of `n` values, which `f` makes out of their indices.
    ///
    /// # Safety
    ///
    /// The block stays as long as anybody uses the array.
    pub(crate) unsafe fn array<T>(
        &mut self,
        n: usize,
        f: impl Fn(u32) -> T,
    ) -> Result<&'static [T]> {
        const { assert!(!mem::needs_drop::<T>()) };
        let first = self.room::<T>(n)?;
        for i in 0..n {
            // SAFETY: There is room for `n` values.
            unsafe { first.add(i).write(f(i as u32)) };
        }
        // SAFETY: There are `n` values, as long as by this function's requirement.
        Ok(unsafe { NonNull::slice_from_raw_parts(first, n).as_ref() })
    }
}

/// Single pages, which are freed with it. Each leads to the next, by a word after the place of a
/// page header: log calls and readers that have found a page before it came here may still look at
/// its header.
///
/// # Invariants
///
/// `first`, and what its word leads to, and so on, are pages of [`Block::into_page`], and nobody
/// else's.
pub(crate) struct Chain {
    first: *mut u8,
    /// How many of them count in what all of BLog takes.
    #[cfg(CONFIG_BLOG_PARTS)]
    pub(super) counted: u32,
}

// SAFETY: It owns what it points to.
unsafe impl Send for Chain {}

impl Chain {
    pub(crate) const fn new() -> Self {
        // INVARIANT: There is none.
        Self {
            first: ptr::null_mut(),
            #[cfg(CONFIG_BLOG_PARTS)]
            counted: 0,
        }
    }

    /// Where a page has the address of the next one. Others may be copying it, for nothing.
    fn link(page: *mut u8) -> *const AtomicPtr<u8> {
        page.wrapping_add(PAGE_HEADER_SIZE).cast()
    }

    /// Adds a page, if it isn't null.
    ///
    /// # Safety
    ///
    /// It is one of [`Block::into_page`]. Nobody may find it any more, and a caller that has found
    /// it before doesn't need its content after the header; by the time that this is dropped,
    /// nobody looks at it at all.
    pub(crate) unsafe fn push(&mut self, page: *mut u8) {
        if page.is_null() {
            return;
        }
        // ORDERING: As in `PageHeader::reset`: a reader that still copies the page finds it
        // withdrawn if it has copied any of the link.
        fence(Release);
        // SAFETY: A page has room for a header and an aligned word after it.
        unsafe { (*Self::link(page)).store(self.first, Relaxed) };
        // INVARIANT: By this function's requirement.
        self.first = page;
        #[cfg(CONFIG_BLOG_PARTS)]
        {
            self.counted += u32::from(!(source::get().has)(page));
        }
    }

    /// Takes a page, whose memory is as it was but for the link.
    pub(crate) fn pop(&mut self) -> Option<Block> {
        let page = NonNull::new(self.first)?;
        // SAFETY: By the type invariants.
        self.first = unsafe { (*Self::link(self.first)).load(Relaxed) };
        #[cfg(CONFIG_BLOG_PARTS)]
        {
            self.counted -= u32::from(!(source::get().has)(page.as_ptr()));
        }
        // INVARIANT: It is a page of `into_page`, and the caller's.
        Some(Block { at: page, pages: 1 })
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}
