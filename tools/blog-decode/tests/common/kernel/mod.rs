// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The kernel's own sources, so that tests store arguments by the code that drivers run.

#![allow(clippy::all, unexpected_cfgs, unused_imports)]

pub mod call;
#[path = "../../../../../rust/kernel/blog/unaligned.rs"]
pub mod unaligned;

pub use blog_wire as wire;
