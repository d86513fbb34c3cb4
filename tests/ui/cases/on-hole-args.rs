// SPDX-License-Identifier: GPL-2.0

//! Arguments of a call that store more than they said.

#![forbid(unsafe_code)]

use kernel::blog::{BlogArgs, Loaded, RawComponent};

#[derive(Clone, Copy)]
struct Many;

impl BlogArgs for Many {
//~ <- the trait `BlogArgs` requires an `unsafe impl` declaration
    const BUDGET: usize = 0;
    fn size(self) -> usize {
        1 << 20
    }
    unsafe fn store(self, _: *mut u8) {}
//~ ^ implementation of an `unsafe` method
    unsafe fn log(self, _: &RawComponent, _: Loaded) {}
//~ ^ implementation of an `unsafe` method
}
