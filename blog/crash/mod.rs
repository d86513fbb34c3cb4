// SPDX-License-Identifier: GPL-2.0

//! What is found after a crash.

pub(crate) mod describe;
