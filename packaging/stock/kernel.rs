// SPDX-License-Identifier: GPL-2.0

//! The kernel's crate, with the additions of BLog's patches.
//!
//! Drivers that are built for a kernel without these patches see this crate as `kernel`.

#![allow(missing_docs)]

// What macros expand to names it so.
extern crate self as kernel;

pub use ::stock::*;

pub mod blog;

/// The kernel's, and what they lack of `linux/preempt.h`: `preempt.c` compares.
pub mod bindings {
    pub use ::stock::bindings::*;

    pub const BLOG_SOFTIRQ_OFFSET: u32 = 1 << 8;
    pub const BLOG_HARDIRQ_MASK: u32 = 0xf << 24;
    pub const BLOG_NMI_MASK: u32 = match cfg!(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS) {
        true => 0xf << 28,
        false => 1 << 28,
    };
}
