// SPDX-License-Identifier: GPL-2.0

//! Decodes what BLog, the binary kernel logger, has recorded.

#![forbid(unsafe_code)]

pub mod blogfmt;
pub mod format;
pub mod wire;
