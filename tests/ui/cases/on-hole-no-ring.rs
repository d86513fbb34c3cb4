// SPDX-License-Identifier: GPL-2.0

//! What stands for a ring, and for a table of rings, as if it were one.

#![forbid(unsafe_code)]

use kernel::blog::{no_ring, no_rings, ring_of, RawComponent};

pub fn use_them(raw: &RawComponent) {
    let _ = (*no_ring()).records();
    //~     ^ dereference of raw pointer is unsafe and requires unsafe function or block: dereference of raw pointer
    let _ = (*no_rings()).index();
    //~     ^ dereference of raw pointer is unsafe and requires unsafe function or block: dereference of raw pointer
    let _ = (*ring_of(raw)).records();
    //~     ^ dereference of raw pointer is unsafe and requires unsafe function or block: dereference of raw pointer
}
