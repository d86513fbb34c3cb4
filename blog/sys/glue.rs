// SPDX-License-Identifier: GPL-2.0

//! Safe functions for bindings that have no abstraction, and the Rust side of `glue.c`.
//!
//! The comment of a function here, and in the files beside those in C, says whether a log call may
//! call it (any context, NMI included), or only process context.

use crate::sys::prelude::*;

unsafe extern "C" {
    // lib/crc/
    fn crc32_le(crc: u32, p: *const c_void, len: usize) -> u32;

    /// Whether log calls may read the counter, which is the clock: 1, or 0.
    #[cfg(CONFIG_BLOG_PARTS)]
    pub(crate) safe static blog_clock_is_counter: core::sync::atomic::AtomicU8;

    /// The clock of the kernel's log. Any context.
    #[link_name = "blog_local_clock"]
    pub(crate) safe fn local_clock() -> u64;

    /// Waits for others who are faster than that. Process context.
    #[cfg(CONFIG_BLOG_PARTS)]
    #[link_name = "blog_pause"]
    pub(crate) safe fn pause();
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

/// Goes on with a CRC-32 as in zlib (start with 0).
pub(crate) fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    // SAFETY: The slice is valid for its length.
    !unsafe { crc32_le(!crc, bytes.as_ptr().cast(), bytes.len()) }
}

pub(crate) fn random() -> [u8; 16] {
    let mut buf = [0; 16];
    // SAFETY: `buf` is valid for its length.
    unsafe { bindings::get_random_bytes(buf.as_mut_ptr().cast(), buf.len()) };
    buf
}
