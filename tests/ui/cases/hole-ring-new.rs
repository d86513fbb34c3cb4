// SPDX-License-Identifier: GPL-2.0

//! A ring whose page is no page.

#![forbid(unsafe_code)]

use kernel::blog::ring::Ring;

pub fn position() -> Option<(u64, u32, u64)> {
    Ring::new(0, 0, core::ptr::null_mut()).position()
//~ ^ call to unsafe function `kernel::blog::ring::Ring::new` is unsafe and requires unsafe function or block: call to unsafe function
}
