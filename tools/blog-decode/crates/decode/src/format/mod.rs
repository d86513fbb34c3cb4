// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The format engine: format strings of Rust and C, applied to stored bytes.
//!
//! Rust's own formatter cannot be used: its specs are fixed at compile time, and the values here
//! have no Rust type. So this is `core::fmt` once more, over bytes and [type
//! codes](crate::wire::types). The rule is that the text equals what `format!` prints; `tests/`
//! holds the engine against `format!` itself.
//!
//! - [`parse`]: the language, from text to placeholders;
//! - [`print`]: padding, numbers and the builders of `{:#?}`;
//! - [`types`]: from type codes and type descriptors to [`types::Type`];
//! - [`value`]: a stored argument, and how each type prints;
//! - [`template`]: a format string compiled for one call site;
//! - [`cprint`]: the conversions of C formats, whose language is in
//!   [`printf`](crate::blogfmt::printf);
//! - [`errno`]: names of errors.
//!
//! Where the kernel prints otherwise than `std`: `{}` of a `CStr` escapes like the kernel's, and
//! an `Error` prints its name. A pointer prints as by `std` and never hashed. Everywhere else the
//! two agree.

pub mod cprint;
pub mod errno;
/// A link to the macros' own file: what they let through is what is parsed here.
pub mod parse;
pub mod print;
pub mod template;
pub mod types;
pub mod value;
