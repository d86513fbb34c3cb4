// SPDX-License-Identifier: GPL-2.0

//! Memory that may be unreadable: the Rust side of `nofault.c`.

use core::mem::MaybeUninit;
use kernel::transmute::FromBytes;

unsafe extern "C" {
    /// Copies memory. False: it can't be read, and `dst` may have anything. Any context.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `size` bytes.
    #[link_name = "blog_copy_nofault"]
    pub(crate) fn copy_nofault(dst: *mut u8, src: u64, size: usize) -> bool;

    safe fn blog_hash(bytes: u64, len: usize, hash: &mut u64) -> bool;

    /// Chooses the key for private arguments. Before anything can log.
    #[link_name = "blog_draw_key"]
    pub(crate) safe fn draw_key();
}

/// Copies bytes from an address, which may be any; false: they can't be read. Any context.
pub(crate) fn fetch(from: u64, to: &mut [u8]) -> bool {
    // SAFETY: There is room for them. What is at `from`, if anything, is checked.
    unsafe { copy_nofault(to.as_mut_ptr(), from, to.len()) }
}

/// The value there, as [`fetch`].
pub(crate) fn fetch_value<T: FromBytes>(from: u64) -> Option<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let to = value.as_mut_ptr().cast();
    // SAFETY: As in `fetch`; and then they are there, and any bytes are a `T`.
    unsafe { copy_nofault(to, from, size_of::<T>()).then(|| value.assume_init()) }
}

/// The hash of memory, by the key of this boot; `None`: it can't be read. Any context.
pub(crate) fn hash(from: u64, len: usize) -> Option<u64> {
    let mut hash = 0;
    blog_hash(from, len, &mut hash).then_some(hash)
}
