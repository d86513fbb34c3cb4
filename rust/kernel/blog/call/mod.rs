// SPDX-License-Identifier: GPL-2.0

//! What a log call expands to, on the driver's side.
//!
//! The macros' expansions name what is here; it is compiled in drivers. Nothing here knows how
//! rings get memory, or how they are read. Nothing here allocates.

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
