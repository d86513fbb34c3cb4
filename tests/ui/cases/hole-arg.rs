// SPDX-License-Identifier: GPL-2.0

//! Arguments that store more than they said, or say it twice in two ways.

#![forbid(unsafe_code)]

use kernel::blog::{types::TypeCode, BlogArg, BlogArgs, BlogFixed};

struct Long;

impl BlogArg for Long {
//~ <- the trait `BlogArg` requires an `unsafe impl` declaration
    type This = Self;
    const CODE: TypeCode = <u8 as BlogArg>::CODE;
    const FIXED: usize = 1;
    unsafe fn store(&self, _: *mut u8) {}
//~ ^ implementation of an `unsafe` method
}

impl BlogFixed for Long {}
//~ <- the trait `BlogFixed` requires an `unsafe impl` declaration

#[derive(Clone, Copy)]
struct Many;

impl BlogArgs for Many {
//~ <- the trait `BlogArgs` requires an `unsafe impl` declaration
    const FIXED_SUM: usize = 0;
    const ANY_TAIL: bool = false;
    fn size(self) -> usize {
        1 << 20
    }
    unsafe fn store(self, _: *mut u8) {}
//~ ^ implementation of an `unsafe` method
}
