// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Of `rust/kernel/blog/call/`, what needs no kernel.

#[path = "../../../../../rust/kernel/blog/call/arg.rs"]
pub mod arg;
#[path = "../../../../../rust/kernel/blog/call/args.rs"]
pub mod args;
#[path = "../../../../../rust/kernel/blog/call/wrap.rs"]
pub mod wrap;
