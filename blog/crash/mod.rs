// SPDX-License-Identifier: GPL-2.0

//! What is found after a crash, and where a task is stuck.

pub(crate) mod describe;
pub(crate) mod stuck;
