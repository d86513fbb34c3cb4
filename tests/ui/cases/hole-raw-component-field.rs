// SPDX-License-Identifier: GPL-2.0

//! The fields of a component, past what it asks for.

#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use kernel::blog::RawComponent;

pub fn switch(raw: &RawComponent) {
    raw.switch.slot.store(1 << 20, Relaxed);
    //~ ^ field `switch` of struct `RawComponent` is private: private field
}
