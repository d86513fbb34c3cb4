// SPDX-License-Identifier: GPL-2.0

//! For after a crash: structures that crash tools read, and last words in the kernel's log.

pub(crate) mod describe;
mod lines;
pub(crate) mod newest;
pub(crate) mod words;
