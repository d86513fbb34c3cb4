// SPDX-License-Identifier: GPL-2.0

//! Pages of the kernel's memory: the Rust side of `pages.c`; and values in such pages, so that
//! crash tools find them in a dump. makedumpfile knows only the slabs and blocks of pages of older
//! kernels. It takes all pages of these but the first for a process's, and may leave them out.

use core::{
    mem,
    ops::Deref,
    ptr::NonNull, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

use super::glue::fetch_value;

unsafe extern "C" {
    /// Pages of zeroes whose addresses follow each other; null if there are none. Process context.
    #[link_name = "blog_pages_alloc"]
    pub(crate) safe fn alloc_pages(count: u32) -> *mut c_void;

    /// Frees them: they are of [`alloc_pages`], and nobody uses them any more.
    #[link_name = "blog_pages_free"]
    pub(crate) fn free_pages(pages: *mut u8);

    fn blog_page_get(at: NonNull<c_void>) -> NonNull<c_void>;
    fn blog_page_put(page: NonNull<c_void>);
}

/// A single page of [`alloc_pages`] that is about to be mapped: its memory stays that of this page
/// until this is dropped, and as long as it is mapped.
///
/// # Invariants
///
/// `page` is counted as used by this.
pub(crate) struct Mapped(NonNull<c_void>);

impl Mapped {
    /// # Safety
    ///
    /// There is such a page at `at`, which isn't freed during the call.
    pub(crate) unsafe fn new(at: NonNull<u8>) -> Self {
        // INVARIANT: It is from here on.
        // SAFETY: By this function's requirement.
        Self(unsafe { blog_page_get(at.cast()) })
    }

    /// The `struct page`.
    pub(crate) fn as_ptr(&self) -> *mut c_void {
        self.0.as_ptr()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: By the type invariants.
        unsafe { blog_page_put(self.0) };
    }
}

/// A value that crash tools find, or a list of such. It is never dropped.
///
/// # Invariants
///
/// It is of no size, or at the start of pages that this owns.
#[repr(transparent)]
pub(crate) struct Kept<T: ?Sized>(NonNull<T>);

// SAFETY: It owns the value, as a box does.
unsafe impl<T: ?Sized + Send> Send for Kept<T> {}
// SAFETY: As above.
unsafe impl<T: ?Sized + Sync> Sync for Kept<T> {}

impl<T> Kept<T> {
    /// Process context, and not where reclaim waits for the caller.
    pub(crate) fn new(value: T) -> Result<Self> {
        let place = place(1)?;
        // SAFETY: There is room for it.
        unsafe { place.write(value) };
        // INVARIANT: It is there.
        Ok(Self(place))
    }
}

impl<T> Kept<[T]> {
    pub(crate) const fn none() -> Self {
        // INVARIANT: These are of no size.
        Self(NonNull::slice_from_raw_parts(NonNull::dangling(), 0))
    }

    /// Where the list is that a value at this address, which may be any, keeps. Any context.
    pub(crate) fn fetch(kept: u64) -> Option<*const [T]> {
        const { assert!(size_of::<*const [T]>() == size_of::<[usize; 2]>()) };
        let list = fetch_value::<[usize; 2]>(kept)?;
        // SAFETY: It is all that a value is, and any bytes are such a pointer.
        Some(unsafe { mem::transmute_copy(&list) })
    }

    /// A copy. As [`Kept::new`].
    pub(crate) fn copy(list: impl ExactSizeIterator<Item = T>) -> Result<Self> {
        let len = list.len();
        if len == 0 {
            return Ok(Self::none());
        }
        let first = place(len)?;
        for (n, value) in list.take(len).enumerate() {
            // SAFETY: There is room for them, and nobody else has it.
            unsafe { first.add(n).write(value) };
        }
        // INVARIANT: They are there.
        Ok(Self(NonNull::slice_from_raw_parts(first, len)))
    }
}

/// Pages with room for `n` values, one at least.
fn place<T>(n: usize) -> Result<NonNull<T>> {
    const { assert!(!mem::needs_drop::<T>()) };
    const { assert!(size_of::<T>() > 0 && align_of::<T>() <= PAGE_SIZE) };
    let bytes = n.checked_mul(size_of::<T>()).ok_or(ENOMEM)?;
    let pages = u32::try_from(bytes.div_ceil(PAGE_SIZE)).map_err(|_| ENOMEM)?;
    NonNull::new(alloc_pages(pages).cast()).ok_or(ENOMEM)
}

impl<T: ?Sized> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type invariants.
        unsafe { self.0.as_ref() }
    }
}

impl<T: ?Sized> Drop for Kept<T> {
    fn drop(&mut self) {
        if size_of_val(&**self) != 0 {
            // SAFETY: By the type invariants; nobody uses them any more.
            unsafe { free_pages(self.0.as_ptr().cast()) };
        }
    }
}
