// SPDX-License-Identifier: GPL-2.0

//! The kernel's own sources, so that tests store arguments by the code that drivers run.

#![allow(clippy::all)]

#[path = "../../../../../rust/kernel/blog/arg.rs"]
pub mod arg;
#[path = "../../../../../rust/kernel/blog/args.rs"]
pub mod args;
#[path = "../../../../../rust/kernel/blog/record.rs"]
pub mod record;
#[path = "../../../../../rust/kernel/blog/types.rs"]
pub mod types;
#[path = "../../../../../rust/kernel/blog/wrap.rs"]
pub mod wrap;
