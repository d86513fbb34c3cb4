// SPDX-License-Identifier: GPL-2.0

//! A pool that hands out what is no page.

#![forbid(unsafe_code)]

use kernel::blog::ring::{PageHeader, Pages};

struct Nothing;

impl Pages for Nothing {
//~ <- the trait `Pages` requires an `unsafe impl` declaration
    fn take(&self, _: u32, _: u32, _: u32) -> Option<u32> {
        Some(0)
    }
    fn page(&self, _: u32) -> *mut PageHeader {
        core::ptr::null_mut()
    }
    fn largest(&self) -> u32 {
        4096
    }
    unsafe fn put(&self, _: u32) {}
//~ ^ implementation of an `unsafe` method
}
