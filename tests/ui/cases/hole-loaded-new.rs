// SPDX-License-Identifier: GPL-2.0

//! The same, by the macros' way.

#![forbid(unsafe_code)]

use kernel::blog::Loaded;

pub fn forge() -> Loaded {
    Loaded::new(0xff, 0)
//~ ^ call to unsafe function `kernel::blog::Loaded::new` is unsafe and requires unsafe function or block: call to unsafe function
}
