// SPDX-License-Identifier: GPL-2.0

//! For after a crash: structures that crash tools read.

pub(crate) mod describe;
