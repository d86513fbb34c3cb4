// SPDX-License-Identifier: GPL-2.0

//! Memory that crash tools are to find in a dump: in place of `blog/sys/kept.rs`, for a kernel of
//! which makedumpfile leaves out some.
//!
//! It takes the second page of each slab, and of each other block of pages, for one of a process
//! (`patches/vmcore_info-compound_head.patch` says why), and with `-d 31` leaves it out. So what it
//! is to keep is in single pages.

use core::{
    alloc::Layout,
    ffi::c_void,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    alloc::{
        AllocError,
        Allocator,
        Flags,
        NumaNode, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

/// A vector there.
pub(crate) type KeptVec<T> = Vec<T, Kept>;
/// A value there.
pub(crate) type KeptBox<T> = Box<T, Kept>;

/// Bytes that who asks for this many is given: as `kept.c` has them.
pub(crate) fn rounded(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        ..=PAGE_SIZE => bytes.next_power_of_two().max(128),
        _ => bytes.next_multiple_of(PAGE_SIZE),
    }
}

/// The allocator of such memory. Of flags, it knows whether it may wait; it never warns.
pub(crate) struct Kept;

extern "C" {
    fn blog_kept_alloc(size: usize, may_wait: bool) -> *mut c_void;
    fn blog_kept_free(memory: *mut c_void, size: usize);
}

/// For KUnit: bytes that were given.
#[cfg(CONFIG_BLOG_KUNIT_TEST)]
pub(crate) fn size_of(memory: *const c_void) -> usize {
    extern "C" {
        fn blog_kept_size(memory: *const c_void) -> usize;
    }

    // SAFETY: For what [`Kept`] has given.
    unsafe { blog_kept_size(memory) }
}

// SAFETY: What it gives, of zeroes, stays until it is freed, by the size that it was asked for. Parts
// of pages are aligned to their size, and others to a page.
unsafe impl Allocator for Kept {
    const MIN_ALIGN: usize = 128;

    unsafe fn realloc(
        old: Option<NonNull<u8>>,
        layout: Layout,
        old_layout: Layout,
        flags: Flags,
        _nid: NumaNode,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let (size, old_size) = (layout.size(), old_layout.size());
        let old = old.filter(|_| old_size != 0);
        let new = match size {
            0 => NonNull::new(ptr::without_provenance_mut(layout.align())).ok_or(AllocError)?,
            _ if layout.align() > Self::MIN_ALIGN => return Err(AllocError),
            // SAFETY: No requirements, but that it may wait where `flags` say so.
            _ => NonNull::new(unsafe { blog_kept_alloc(size, flags.contains(GFP_KERNEL)) })
                .ok_or(AllocError)?
                .cast(),
        };
        if let Some(old) = old {
            // SAFETY: Both have the smaller of the sizes, and don't overlap. By this function's
            // requirements, `old` is from here, and nobody's any more.
            unsafe {
                new.copy_from_nonoverlapping(old, size.min(old_size));
                blog_kept_free(old.as_ptr().cast(), old_size);
            }
        }
        Ok(NonNull::slice_from_raw_parts(new, size))
    }
}
