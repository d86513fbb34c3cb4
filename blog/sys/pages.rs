// SPDX-License-Identifier: GPL-2.0

//! Pages of the kernel's memory: the Rust side of `pages.c`.

use kernel::prelude::*;

unsafe extern "C" {
    fn blog_pages_free(pages: *mut c_void);

    /// Pages of zeroes whose addresses follow each other; null where there are none. Process
    /// context.
    #[link_name = "blog_pages_alloc"]
    pub(crate) safe fn alloc_pages(count: u32) -> *mut c_void;
}

/// Frees them.
///
/// # Safety
///
/// They are of [`alloc_pages`], and nobody uses them any more.
pub(crate) unsafe fn free_pages(pages: *mut u8) {
    // SAFETY: By this function's requirement.
    unsafe { blog_pages_free(pages.cast()) };
}
