// SPDX-License-Identifier: GPL-2.0

//! The kernel-free files of `kernel::blog`, compiled for the host under the crate's own name, and
//! as much of the crate around them as the macros' expansions name.

#![no_std]

pub mod blog;
pub mod error;
