// SPDX-License-Identifier: GPL-2.0

//! Switching a component on oneself.

#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use kernel::blog::RawComponent;

pub fn switch(raw: &RawComponent) {
    raw.switch().threshold.store(5, Relaxed);
//~ ^ call to unsafe function `RawComponent::switch` is unsafe and requires unsafe function or block: call to unsafe function
}
