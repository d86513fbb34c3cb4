// SPDX-License-Identifier: GPL-2.0

//! Arguments that store more than they said.

#![forbid(unsafe_code)]

use kernel::blog::{types::TypeCode, BlogArg, BlogFixed};

struct Long;

impl BlogArg for Long {
//~ <- the trait `BlogArg` requires an `unsafe impl` declaration
    type This = Self;
    const CODE: TypeCode = <u8 as BlogArg>::CODE;
    const FIXED: usize = 1;
    type Passed<'a> = &'a Self;
    fn pass(&self) -> &Self {
        self
    }
    unsafe fn store(&self, _: *mut u8) {}
//~ ^ implementation of an `unsafe` method
}

impl BlogFixed for Long {}
//~ <- the trait `BlogFixed` requires an `unsafe impl` declaration
