// SPDX-License-Identifier: GPL-2.0

//! The driver's side of a log call.
//!
//! The macros' expansions use these items, which are compiled in drivers. Nothing here knows how
//! rings get memory, or how readers read them. Nothing here allocates.

#[cfg_attr(not(CONFIG_BLOG_HOOKS), allow(dead_code))]
pub(super) mod abi;
#[cfg(all(CONFIG_BLOG_HOOKS, CONFIG_BLOG_ARCH))]
mod arch;
#[cfg(all(CONFIG_BLOG_HOOKS, not(CONFIG_BLOG_ARCH)))]
#[path = "arch/generic.rs"]
mod arch;
pub(super) mod arg;
// Drivers in Rust have the kernel's crate.
#[cfg(not(BLOG_ANYKERNEL))]
mod arg_kernel;
pub(super) mod args;
#[cfg(CONFIG_BLOG_ARGS)]
pub(super) mod bytes;
#[cfg(CONFIG_BLOG_ARGS)]
#[doc(hidden)]
pub mod capture;
pub mod component;
#[doc(hidden)]
pub mod declare;
pub mod fmt;
pub(super) mod instance;
mod load;
#[cfg(all(CONFIG_BLOG_HOOKS, any(CONFIG_BLOG_PACK, not(CONFIG_RUST))))]
pub(super) mod open;
#[cfg(CONFIG_BLOG_ARGS)]
pub(super) mod private;
pub(super) mod site;
pub(super) mod wrap;
#[cfg(CONFIG_BLOG_HOOKS)]
pub(super) mod write;
