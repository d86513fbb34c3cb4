// SPDX-License-Identifier: GPL-2.0

//! What only the macros' code may call.

#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use kernel::blog::{
    ring::{Mode, Owner, Pages, Place, Ring},
    wire::record::Lost,
    Loaded, RawComponent, Site,
};

// A call that says that its site is on.
pub fn forge() -> Loaded {
    Loaded::new(0xff, 0, 3)
//~ ^ call to unsafe function `kernel::blog::Loaded::new` is unsafe and requires unsafe function or block: call to unsafe function
}

// Switching a component on oneself.
pub fn switch(raw: &RawComponent) {
    raw.switch().threshold.store(5, Relaxed);
//~ ^ call to unsafe function `RawComponent::switch` is unsafe and requires unsafe function or block: call to unsafe function
}

// Switching a call site that has no id.
pub fn switch_site(site: &Site) {
    site.set_gate(0);
//~ ^ call to unsafe function `Site::set_gate` is unsafe and requires unsafe function or block: call to unsafe function
    site.set_id(1);
//~ ^ call to unsafe function `Site::set_id` is unsafe and requires unsafe function or block: call to unsafe function
}

// A place that no ring has given.
pub fn put() {
    let ring = core::ptr::null();
    Ring::put(Place { ring, ts: 1 }, 8, 1 << 10, |_| ());
//~ ^ call to unsafe function `ring::writer::<impl kernel::blog::ring::Ring>::put` is unsafe and requires unsafe function or block: call to unsafe function
}

// A ring whose page is no page.
pub fn position() -> Option<(u64, u32, u64)> {
    Ring::new(0, 0, core::ptr::null_mut()).position()
//~ ^ call to unsafe function `kernel::blog::ring::Ring::new` is unsafe and requires unsafe function or block: call to unsafe function
}

// Writing into a ring of another context, and taking pages out of a ring for another pool.
pub fn write(ring: &Ring, pages: &impl Pages, who: &Owner, last: &AtomicU64) {
    ring.begin();
//~ ^ call to unsafe function `ring::busy::<impl kernel::blog::ring::Ring>::begin` is unsafe and requires unsafe function or block: call to unsafe function
    ring.end();
//~ ^ call to unsafe function `ring::busy::<impl kernel::blog::ring::Ring>::end` is unsafe and requires unsafe function or block: call to unsafe function
    ring.count_lost(Lost::Nested, 1);
//~ ^ call to unsafe function `ring::writer::<impl kernel::blog::ring::Ring>::count_lost` is unsafe and requires unsafe function or block: call to unsafe function
    ring.mend(1);
//~ ^ call to unsafe function `ring::busy::<impl kernel::blog::ring::Ring>::mend` is unsafe and requires unsafe function or block: call to unsafe function
    let _ = ring.turn(pages, Mode::Overwrite, 4096, 8, 1);
    //~     ^ call to unsafe function `ring::turn::<impl kernel::blog::ring::Ring>::turn` is unsafe and requires unsafe function or block: call to unsafe function
    let _ = ring.begin_shared(pages, Mode::Overwrite, 4096, 8, || 1, (who, last));
    //~     ^ call to unsafe function `ring::writer::<impl kernel::blog::ring::Ring>::begin_shared` is unsafe and requires unsafe function or block: call to unsafe function
}

pub fn steal(ring: &Ring, pages: &impl Pages) {
    ring.steal(pages);
//~ ^ call to unsafe function `ring::chain::<impl kernel::blog::ring::Ring>::steal` is unsafe and requires unsafe function or block: call to unsafe function
    ring.steal_last(pages);
//~ ^ call to unsafe function `ring::chain::<impl kernel::blog::ring::Ring>::steal_last` is unsafe and requires unsafe function or block: call to unsafe function
    pages.put(0);
//~ ^ call to unsafe function `kernel::blog::ring::Pages::put` is unsafe and requires unsafe function or block: call to unsafe function
}

pub fn own(ring: &Ring, who: &Owner, last: &AtomicU64) {
    ring.adopt(who);
//~ ^ call to unsafe function `ring::owner::<impl kernel::blog::ring::Ring>::adopt` is unsafe and requires unsafe function or block: call to unsafe function
    ring.retire(1);
//~ ^ call to unsafe function `ring::owner::<impl kernel::blog::ring::Ring>::retire` is unsafe and requires unsafe function or block: call to unsafe function
}
