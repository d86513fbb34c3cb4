// SPDX-License-Identifier: GPL-2.0

//! A record for a component that is off.

#![forbid(unsafe_code)]

use kernel::blog::{BlogArgs, Loaded, RawComponent};

pub fn record(raw: &RawComponent, site: Loaded) {
    (&1u32,).log(raw, site);
//~ ^ call to unsafe function `kernel::blog::BlogArgs::log` is unsafe and requires unsafe function or block: call to unsafe function
}
