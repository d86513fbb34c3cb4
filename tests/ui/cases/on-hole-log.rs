// SPDX-License-Identifier: GPL-2.0

//! A record for a component that is off.

#![forbid(unsafe_code)]

use kernel::blog::{log, Loaded, RawComponent};

pub fn record(raw: &RawComponent, site: Loaded) {
    log(raw, site, (&1u32,));
//~ ^ call to unsafe function `kernel::blog::log` is unsafe and requires unsafe function or block: call to unsafe function
}
