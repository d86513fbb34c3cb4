// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The decoder's tests: one program, so that the decoder is linked once. A module is about one
//! subject; `commands.rs` runs the texts of `../commands`.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/heap.rs"]
mod heap;
#[path = "../common/proto.rs"]
mod proto;

// What the tests include of the kernel calls this crate so.
extern crate self as kernel;

/// The kernel's crate, as far as its writer of C calls wants it.
pub mod blog {
    pub use crate::common::kernel::{unaligned, wire};
}

mod biglog;
mod cformat;
mod cli;
mod commands;
mod console;
mod convert;
mod debuginfod;
#[cfg(feature = "vmcore")]
mod dumped;
mod follow;
mod format;
mod golden;
mod library;
mod memory;
mod merge;
mod names;
mod newcomer;
mod packed;
mod progress;
mod record;
mod runs;
mod sidetable;
mod snapshot;
mod stream;
mod vmcore;
