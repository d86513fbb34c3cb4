// SPDX-License-Identifier: GPL-2.0

//! Pages of the kernel's memory: the Rust side of `pages.c`.

use kernel::prelude::*;

unsafe extern "C" {
    /// Pages of zeroes whose addresses follow each other; null where there are none. Process
    /// context.
    #[link_name = "blog_pages_alloc"]
    pub(crate) safe fn alloc_pages(count: u32) -> *mut c_void;

    /// Frees them: they are of [`alloc_pages`], and nobody uses them any more.
    #[link_name = "blog_pages_free"]
    pub(crate) fn free_pages(pages: *mut u8);
}
