// SPDX-License-Identifier: GPL-2.0

//! Readers: they never make a log call wait.

pub(crate) mod piece;
pub(crate) mod sections;
pub(crate) mod snapshot;
pub(crate) mod stream;
pub(crate) mod withheld;
