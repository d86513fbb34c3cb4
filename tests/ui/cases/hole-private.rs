// SPDX-License-Identifier: GPL-2.0

//! Fields and methods that are nobody else's.

#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use kernel::blog::{ring::PageHeader, Instance, RawComponent, Site};

// An instance that stays registered when it is gone.
pub fn forget(mut instance: Instance) {
    instance.unregister = None;
    //~      ^ field `unregister` of struct `Instance` is private
}

// Storing to the header of a page that a ring has.
pub fn grow(page: &PageHeader) {
    page.commit.store(1 << 30, Relaxed);
    //~  ^ field `commit` of struct `PageHeader` is private
    page.reset(0, 0, 0);
    //~  ^ method `reset` is private
}

// The fields of a component, past what it asks for.
pub fn switch(raw: &RawComponent) {
    raw.switch.slot.store(1 << 20, Relaxed);
    //~ ^ field `switch` of struct `RawComponent` is private
}

// Switching a call site.
pub fn switch_site(site: &Site) {
    site.gate.store(0, Relaxed);
    //~  ^ field `gate` of struct `Site` is private
}
