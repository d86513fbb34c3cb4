// SPDX-License-Identifier: GPL-2.0

//! Storing to the header of a page that a ring has.

#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use kernel::blog::ring::PageHeader;

pub fn grow(page: &PageHeader) {
    page.commit.store(1 << 30, Relaxed);
    //~  ^ field `commit` of struct `PageHeader` is private: private field
    page.reset(0, 0, 0);
    //~  ^ method `reset` is private: private method
}
