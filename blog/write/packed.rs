// SPDX-License-Identifier: GPL-2.0

//! Records of drivers in C, whose arguments `sys/call.c` has collected.
//!
//! Runs wherever drivers log, as `slow.rs`.

use kernel::blog::{
    packed::{
        Memory,
        Packed, //
    },
    types::MAX_ARGS,
    wire::pack::Codes,
    write_packed,
    RawComponent, //
};

use crate::sys::glue;

/// The kernel's memory.
struct Kernel;

impl Memory for Kernel {
    fn string(&self, address: u64, max: usize) -> Option<usize> {
        glue::string_length(address, max)
    }

    fn readable(&self, address: u64, len: usize) -> bool {
        let mut byte = 0;
        let mut has = |at| {
            // SAFETY: This is a byte.
            unsafe { glue::copy_nofault(at, &raw mut byte, 1) }
        };
        // At most a record's worth: no page is between the first and the last byte.
        len == 0 || has(address) && address.checked_add(len as u64 - 1).is_some_and(has)
    }

    unsafe fn text(&self, kind: u8, address: u64, dst: *mut u8, len: usize) -> Option<usize> {
        // SAFETY: By this function's requirement.
        unsafe { glue::text(kind, address, dst, len) }
    }

    unsafe fn copy(&self, address: u64, dst: *mut u8, len: usize) -> bool {
        // SAFETY: By this function's requirement.
        unsafe { glue::copy_nofault(address, dst, len) }
    }
}

/// Writes the record of a call; for `blog_write()`.
///
/// # Safety
///
/// The site is on for `component`, which is valid, and has this id. `args` has as many arguments as
/// `codes` says.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_write_packed(
    component: *const RawComponent,
    site_shl10: u32,
    codes: u64,
    args: &[u64; MAX_ARGS],
) {
    if let Some(packed) = Packed::new(Codes(codes), args, &Kernel) {
        // SAFETY: By this function's requirements.
        unsafe { write_packed(&*component, site_shl10, &packed) };
    }
}
