// SPDX-License-Identifier: GPL-2.0

//! Mirrors the kernel-free part of `rust/kernel/blog.rs`.

#[path = "../../../../rust/kernel/blog/record.rs"]
pub mod record;
#[path = "../../../../rust/kernel/blog/ring.rs"]
pub mod ring;
#[path = "../../../../rust/kernel/blog/root.rs"]
pub mod root;
#[path = "../../../../rust/kernel/blog/snapshot.rs"]
pub mod snapshot;
