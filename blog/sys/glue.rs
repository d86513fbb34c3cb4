// SPDX-License-Identifier: GPL-2.0

//! Safe functions for bindings that have no abstraction, and the Rust side of `glue.c`.
//!
//! The comment of a function here, and in the files beside those in C, says whether a log call may
//! call it (any context, NMI included), or only process context.

use core::{
    mem::MaybeUninit,
    sync::atomic::AtomicU8, //
};
use kernel::transmute::FromBytes;

use crate::sys::prelude::*;

unsafe extern "C" {
    // lib/crc/
    fn crc32_le(crc: u32, p: *const c_void, len: usize) -> u32;

    /// Copies memory. False: it can't be read, and `dst` may have anything. Any context.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `size` bytes.
    #[link_name = "blog_copy_nofault"]
    pub(crate) fn copy_nofault(dst: *mut u8, src: u64, size: usize) -> bool;

    /// Whether log calls may read the counter, which is the clock: 1, or 0.
    pub(crate) safe static blog_clock_is_counter: AtomicU8;

    /// The clock of the kernel's log. Any context.
    #[link_name = "blog_local_clock"]
    pub(crate) safe fn local_clock() -> u64;

    safe fn blog_hash(bytes: u64, len: usize, hash: &mut u64) -> bool;

    /// Chooses the key for private arguments. Before anything can log.
    #[link_name = "blog_draw_key"]
    pub(crate) safe fn draw_key();

    /// Jiffies in a second.
    #[link_name = "blog_hz"]
    pub(crate) safe fn hz() -> u32;

    /// Waits for others who are faster than that. Process context.
    #[link_name = "blog_pause"]
    pub(crate) safe fn pause();

    // lib/hexdump.c
    fn hex2bin(to: *mut u8, digits: *const c_char, bytes: usize) -> c_int;
}

/// An error of this number: the kernel crate of Linux 7.2 lacks `ENODATA` and `EOPNOTSUPP`.
pub(crate) fn errno(number: u32) -> Error {
    Error::from_errno(-(number as c_int))
}

/// A name as messages show it.
pub(crate) fn shown(name: &CStr) -> &BStr {
    BStr::from_bytes(name.to_bytes())
}

/// Copies between slices of one length; copy_from_slice() would have a panic for others.
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
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

/// Goes on with a CRC-32 as in zlib (start with 0).
pub(crate) fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    // SAFETY: The slice is valid for its length.
    !unsafe { crc32_le(!crc, bytes.as_ptr().cast(), bytes.len()) }
}

/// Reads bytes in hex digits; `EINVAL` if these aren't two for each byte of `to`. Process context.
pub(crate) fn unhex(to: &mut [u8], digits: &str) -> Result {
    if digits.len() != 2 * to.len() {
        return Err(EINVAL);
    }
    // SAFETY: Both are valid for their length.
    to_result(unsafe { hex2bin(to.as_mut_ptr(), digits.as_ptr().cast(), to.len()) })
}

pub(crate) fn random() -> [u8; 16] {
    let mut buf = [0; 16];
    // SAFETY: `buf` is valid for its length.
    unsafe { bindings::get_random_bytes(buf.as_mut_ptr().cast(), buf.len()) };
    buf
}
