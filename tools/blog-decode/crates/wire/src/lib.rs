// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The definitions of what leaves the kernel of BLog, the binary kernel logger.
//!
//! `src/wire` is a link to the folder that the kernel is built from: what the kernel writes and
//! what a program reads have one definition.
//!
//! An internal part of the programs of BLog: it changes with them.

#![no_std]
#![forbid(unsafe_code)]

mod wire;

pub use self::wire::*;
