// SPDX-License-Identifier: GPL-2.0

//! What an argument of a C call leads to: the Rust side of `call.c`. For log calls.

use kernel::prelude::*;

unsafe extern "C" {
    fn blog_string_length(s: *const u8, max: usize) -> c_long;
    fn blog_copy_nofault(dst: *mut u8, src: *const u8, size: usize) -> bool;
    fn blog_text(kind: u32, object: *const c_void, dst: *mut u8, size: usize) -> c_long;
}

/// Length of the string at `address`, of which `max` bytes at most are looked at. `None`: it can't
/// be read. For log calls.
pub(crate) fn string_length(address: u64, max: usize) -> Option<usize> {
    // SAFETY: It reads what there is, whatever the address.
    let len = unsafe { blog_string_length(address as *const u8, max) };
    usize::try_from(len).ok()
}

/// What an object is called, of a kind of `wire/pack.rs`: stores at most `size` bytes, and returns
/// how many there are. `None`: it can't be read. For log calls.
///
/// # Safety
///
/// `dst` is valid for writes of `size` bytes.
pub(crate) unsafe fn text(kind: u8, address: u64, dst: *mut u8, size: usize) -> Option<usize> {
    // SAFETY: By this function's requirement; and it reads what there is, whatever the address.
    let len = unsafe { blog_text(kind.into(), address as *const c_void, dst, size) };
    usize::try_from(len).ok()
}

/// Copies memory; false where it can't be read. For log calls.
///
/// # Safety
///
/// `dst` is valid for writes of `size` bytes.
pub(crate) unsafe fn copy_nofault(address: u64, dst: *mut u8, size: usize) -> bool {
    // SAFETY: By this function's requirement; and it reads what there is, whatever the address.
    unsafe { blog_copy_nofault(dst, address as *const u8, size) }
}
