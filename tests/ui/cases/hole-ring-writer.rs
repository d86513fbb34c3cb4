// SPDX-License-Identifier: GPL-2.0

//! Writing into a ring of another context, and taking pages out of a ring for another pool.

#![forbid(unsafe_code)]

use core::sync::atomic::AtomicU64;
use kernel::blog::{
    ring::{Mode, Owner, Pages, Ring},
    wire::record::Lost,
};

pub fn write(ring: &Ring, pages: &impl Pages, who: &Owner, last: &AtomicU64) {
    ring.begin();
//~ ^ call to unsafe function `ring::writer::<impl kernel::blog::ring::Ring>::begin` is unsafe and requires unsafe function or block: call to unsafe function
    ring.end();
//~ ^ call to unsafe function `ring::writer::<impl kernel::blog::ring::Ring>::end` is unsafe and requires unsafe function or block: call to unsafe function
    ring.count_lost(Lost::Nested, 1);
//~ ^ call to unsafe function `ring::writer::<impl kernel::blog::ring::Ring>::count_lost` is unsafe and requires unsafe function or block: call to unsafe function
    let _ = ring.turn(pages, Mode::Overwrite, 4096, 8, 1);
    //~     ^ call to unsafe function `ring::turn::<impl kernel::blog::ring::Ring>::turn` is unsafe and requires unsafe function or block: call to unsafe function
    let _ = ring.begin_shared(pages, Mode::Overwrite, 4096, 8, || 1, (who, last));
    //~     ^ call to unsafe function `ring::writer::<impl kernel::blog::ring::Ring>::begin_shared` is unsafe and requires unsafe function or block: call to unsafe function
}

pub fn steal(ring: &Ring, pages: &impl Pages) {
    ring.steal(pages);
//~ ^ call to unsafe function `kernel::blog::ring::Ring::steal` is unsafe and requires unsafe function or block: call to unsafe function
    ring.steal_last(pages);
//~ ^ call to unsafe function `kernel::blog::ring::Ring::steal_last` is unsafe and requires unsafe function or block: call to unsafe function
    pages.put(0);
//~ ^ call to unsafe function `put` is unsafe and requires unsafe function or block: call to unsafe function
}

pub fn own(ring: &Ring, who: &Owner, last: &AtomicU64) {
    ring.adopt(who);
//~ ^ call to unsafe function `ring::owner::<impl kernel::blog::ring::Ring>::adopt` is unsafe and requires unsafe function or block: call to unsafe function
    ring.retire([0; 16], 1);
//~ ^ call to unsafe function `ring::owner::<impl kernel::blog::ring::Ring>::retire` is unsafe and requires unsafe function or block: call to unsafe function
}
