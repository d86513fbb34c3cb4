// SPDX-License-Identifier: GPL-2.0

//! What several tests need: the kernel's own encoder, and builders of snapshots and ELF files.

#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod kernel;
