// SPDX-License-Identifier: GPL-2.0

//! Freezing all rings, as at a crash.

#![forbid(unsafe_code)]

pub fn freeze() {
    kernel::blog::root::set_frozen(true);
    //~                 ^ cannot find function `set_frozen` in module `kernel::blog::root`
}
