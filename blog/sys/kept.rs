// SPDX-License-Identifier: GPL-2.0

//! Memory that crash tools are to find in a dump. Where BLog's patches are, that is any:
//! `patches/vmcore_info-compound_head.patch` has makedumpfile leave out none of the kernel's.

#[cfg(CONFIG_BLOG_KUNIT_TEST)]
use core::ffi::c_void;
use kernel::{
    bindings,
    prelude::*, //
};

pub(crate) use kernel::alloc::allocator::KVmalloc as Kept;

/// A vector there.
pub(crate) type KeptVec<T> = Vec<T, Kept>;
/// A value there.
pub(crate) type KeptBox<T> = Box<T, Kept>;

/// Bytes that who asks for this many is given.
pub(crate) fn rounded(bytes: usize) -> usize {
    // SAFETY: No requirements.
    unsafe { bindings::kmalloc_size_roundup(bytes) }
}

/// For KUnit: bytes that were given.
#[cfg(CONFIG_BLOG_KUNIT_TEST)]
pub(crate) fn size_of(memory: *const c_void) -> usize {
    // SAFETY: For what [`Kept`] has given.
    unsafe { bindings::ksize(memory) }
}
