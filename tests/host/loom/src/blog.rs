// SPDX-License-Identifier: GPL-2.0

//! Mirrors the kernel-free part of `rust/kernel/blog.rs`.

#[path = "../../../../rust/kernel/blog/ring/mod.rs"]
pub mod ring;
#[path = "../../../../rust/kernel/blog/task/mod.rs"]
pub mod task;
#[path = "../../../../rust/kernel/blog/unaligned.rs"]
pub mod unaligned;
#[path = "../../../../rust/kernel/blog/wire/mod.rs"]
pub mod wire;
