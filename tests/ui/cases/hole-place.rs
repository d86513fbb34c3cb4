// SPDX-License-Identifier: GPL-2.0

//! A place that no ring has given.

#![forbid(unsafe_code)]

use kernel::blog::ring::{Place, Ring};

pub fn put() {
    let ring = core::ptr::null();
    Ring::put(Place { ring, ts: 1 }, 8, 1 << 10, |_| ());
//~ ^ call to unsafe function `ring::writer::<impl kernel::blog::ring::Ring>::put` is unsafe and requires unsafe function or block: call to unsafe function
}
