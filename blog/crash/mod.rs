// SPDX-License-Identifier: GPL-2.0

//! Structures that crash tools read.

pub(crate) mod describe;
