// SPDX-License-Identifier: GPL-2.0

//! The kernel's own definitions of what it writes, included by path: there is no second one.
//!
//! These files belong to `rust/kernel/blog/`; change them there.

#[path = "../../../../rust/kernel/blog/record.rs"]
pub mod record;

#[path = "../../../../rust/kernel/blog/root.rs"]
pub mod root;

#[path = "../../../../rust/kernel/blog/snapshot.rs"]
pub mod snapshot;

#[path = "../../../../rust/kernel/blog/types.rs"]
pub mod types;
