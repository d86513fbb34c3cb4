// SPDX-License-Identifier: GPL-2.0

//! Switching a call site that has no id.

#![forbid(unsafe_code)]

use kernel::blog::Site;

pub fn switch(site: &Site) {
    site.set_gate(0);
//~ ^ call to unsafe function `Site::set_gate` is unsafe and requires unsafe function or block: call to unsafe function
    site.set_id(1);
//~ ^ call to unsafe function `Site::set_id` is unsafe and requires unsafe function or block: call to unsafe function
}
