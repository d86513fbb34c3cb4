// SPDX-License-Identifier: GPL-2.0

//! The macros of `kernel::blog`, as functions from tokens to tokens; `lib.rs` has their entry
//! points. A mistake of the user becomes an error with a place, never a panic.
//!
//! `format` parses format strings, `log` makes call sites, `capture` makes them of messages that a
//! driver prints, `derive` makes `BlogArg` for a user's types, and `asm` writes the data that call
//! sites and types leave in non-loaded sections.

mod asm;
#[cfg(CONFIG_BLOG_ARGS)]
mod capture;
#[cfg(CONFIG_BLOG_ARGS)]
mod derive;
#[allow(dead_code, unreachable_pub)]
mod format;
mod log;
/// The kernel's own files, so that there is one rule.
#[path = "../kernel/blog/wire/mod.rs"]
#[allow(dead_code, unreachable_pub, unused_imports)]
mod wire;

#[cfg(CONFIG_BLOG_ARGS)]
pub(crate) use self::{
    capture::capture,
    derive::derive, //
};
pub(crate) use self::{
    log::log,
    wire::record::Level, //
};

use proc_macro2::TokenStream;
use quote::quote;

/// The condition, for `cfg`, that the crate which is being compiled can reach the logger: the
/// rule of `IS_REACHABLE(CONFIG_BLOG)`.
fn reachable() -> TokenStream {
    quote!(any(CONFIG_BLOG = "y", all(CONFIG_BLOG = "m", MODULE)))
}
