// SPDX-License-Identifier: GPL-2.0

//! What a log call expands to, on the driver's side.
//!
//! The macros' expansions name what is here; it is compiled in drivers. Nothing here knows how
//! rings get memory, or how they are read.
//!
//! | file | what it is |
//! |---|---|
//! | `site.rs` | the call site in memory |
//! | `component.rs`, `instance.rs` | what a call logs to |
//! | `arg.rs`, `arg_kernel.rs`, `args.rs` | how arguments are stored |
//! | `fmt.rs`, `wrap.rs` | which type prints how |
//! | `capture.rs` | messages of a driver that is captured |
//! | `write.rs` | how a record is written |
//! | `context.rs` | whose ring is the caller's |
//! | `none.rs` | what stands for a ring where there is none |
//! | `task.rs` | where a task's rings are found: the seam to `task_struct` |
//!
//! `arg.rs`, `args.rs`, `capture.rs`, `fmt.rs` and `wrap.rs` need no kernel, and
//! compile on the host unchanged, so that tests encode with the real code. Nothing here allocates.

pub(super) mod arg;
mod arg_kernel;
pub(super) mod args;
#[doc(hidden)]
pub mod capture;
pub mod component;
#[cfg(CONFIG_BLOG_HOOKS)]
pub(super) mod context;
pub mod fmt;
pub(super) mod instance;
#[cfg(CONFIG_BLOG_HOOKS)]
pub(super) mod none;
pub(super) mod site;
#[cfg(CONFIG_BLOG_HOOKS)]
pub mod task;
pub(super) mod wrap;
#[cfg(CONFIG_BLOG_HOOKS)]
pub(super) mod write;
