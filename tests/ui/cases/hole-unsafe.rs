// SPDX-License-Identifier: GPL-2.0

//! What only the macros' code may call.

#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use kernel::blog::{
    ring::{Mode, Owner, Pages, Reservation, Ring, Writing},
    Loaded, RawComponent, Site,
};

// A call that says that its site is on.
pub fn forge() -> Loaded {
    Loaded::new(0xff, 0, 3)
//~ ^ call to unsafe function `Loaded::new` is unsafe and requires unsafe function or block
}

// Switching a component on oneself.
pub fn switch(raw: &RawComponent) {
    raw.switch().threshold.store(5, Relaxed);
//~ ^ call to unsafe function `RawComponent::switch` is unsafe and requires unsafe function or block
}

// Switching a call site that has no id.
pub fn switch_site(site: &Site) {
    site.set_gate(0);
//~ ^ call to unsafe function `Site::set_gate` is unsafe and requires unsafe function or block
    site.set_id(1);
//~ ^ call to unsafe function `Site::set_id` is unsafe and requires unsafe function or block
}

// A record that may be larger than the room that there is.
pub fn put(place: Reservation<'_>) {
    place.put(8, 1 << 10, |_| ());
//~ ^ call to unsafe function `Reservation::<'_>::put` is unsafe and requires unsafe function or block
}

// A ring whose page is no page.
pub fn position() -> Option<(u64, u32, u64)> {
    Ring::new(0, 0, core::ptr::null_mut(), 0).position()
//~ ^ call to unsafe function `Ring::new` is unsafe and requires unsafe function or block
}

// Writing into a ring of another context, and taking pages out of a ring for another pool.
pub fn write(ring: &Ring, pages: &impl Pages, who: &Owner, last: &AtomicU64) {
    ring.begin(|| 0);
//~ ^ call to unsafe function `ring::busy::<impl Ring>::begin` is unsafe and requires unsafe function or block
    ring.claim();
//~ ^ call to unsafe function `ring::busy::<impl Ring>::claim` is unsafe and requires unsafe function or block
    ring.mend(1);
//~ ^ call to unsafe function `ring::mend::<impl Ring>::mend` is unsafe and requires unsafe function or block
    let _ = ring.begin_shared(pages, Mode::Overwrite, 4096, 8, || 1, (who, last));
    //~     ^ call to unsafe function `ring::writer::<impl Ring>::begin_shared` is unsafe and requires unsafe function or block
}

pub fn steal(ring: &Ring, writing: &Writing<'_>, pages: &impl Pages) {
    let _ = writing.turn(pages, Mode::Overwrite, 4096, 8, 1);
    //~     ^ call to unsafe function `ring::turn::<impl Writing<'_>>::turn` is unsafe and requires unsafe function or block
    ring.steal(pages);
//~ ^ call to unsafe function `ring::chain::<impl Ring>::steal` is unsafe and requires unsafe function or block
    ring.steal_last(pages);
//~ ^ call to unsafe function `ring::chain::<impl Ring>::steal_last` is unsafe and requires unsafe function or block
    pages.put(0);
//~ ^ call to unsafe function `Pages::put` is unsafe and requires unsafe function or block
}

pub fn own(ring: &Ring, who: &Owner, last: &AtomicU64) {
    ring.adopt(who);
//~ ^ call to unsafe function `ring::owner::<impl Ring>::adopt` is unsafe and requires unsafe function or block
    ring.retire(1);
//~ ^ call to unsafe function `ring::owner::<impl Ring>::retire` is unsafe and requires unsafe function or block
}
