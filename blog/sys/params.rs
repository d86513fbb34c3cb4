// SPDX-License-Identifier: GPL-2.0

//! Module parameters: the Rust side of `params.c`.

use kernel::{
    bindings,
    page::PAGE_SIZE,
    prelude::*, //
};

unsafe extern "C" {
    safe fn blog_param_max_kb() -> u32;
    fn blog_param_clock() -> *const c_char;
}

/// The machine's memory, in KiB.
pub(crate) fn ram_kb() -> usize {
    // SAFETY: It is there, and one word.
    let pages = unsafe { (&raw const bindings::_totalram_pages.counter).read_volatile() };
    pages as usize * (PAGE_SIZE / 1024)
}

/// The highest limit where none is set, in KiB.
const MOST_KB: u32 = 1 << 20;

/// The limit for all that BLog takes, in KiB.
pub(crate) fn max_kb() -> u32 {
    match blog_param_max_kb() {
        0 => u32::try_from(ram_kb() / 8).map_or(MOST_KB, |kb| kb.min(MOST_KB)),
        kb => kb,
    }
}

/// The value of the parameter `clock`.
pub(crate) fn param_clock() -> &'static CStr {
    // SAFETY: The parameter is a C string that doesn't change once BLog starts.
    unsafe { CStr::from_char_ptr(blog_param_clock()) }
}
