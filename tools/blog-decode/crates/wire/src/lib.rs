// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The definitions of what leaves the kernel of BLog, the binary kernel logger.
//!
//! `src/wire` is a link to the folder that the kernel is built from, and its other files are links to
//! the formats of parts of BLog, which kernels may lack: what the kernel writes and what a program
//! reads have one definition.
//!
//! An internal part of the programs of BLog: it changes with them.

#![no_std]
#![forbid(unsafe_code)]

pub mod hits;
pub mod map;
pub mod persist;
pub mod thin;
mod wire;
pub mod words;

pub use self::wire::*;
