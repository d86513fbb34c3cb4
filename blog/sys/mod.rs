// SPDX-License-Identifier: GPL-2.0

//! What the kernel crate lacks, and the seam to what patches add to the core kernel.
//!
//! | file | what it is |
//! |---|---|
//! | `glue.rs`, `glue.h` | what Rust and C call of each other |
//! | `hook.c` | what the core kernel calls, built in: tasks that end, crashes |
//! | `exports.c`, `params.c` | symbols for drivers, module parameters |
//! | `modules.c` | modules that come and go |
//! | `pages.c` | pages of the kernel's memory |
//! | `quiesce.c` | waiting for log calls |
//! | `work.c`, `queue.rs` | work items that are there from the start, and a queue for others |
//! | `waiters.c` | readers that wait |
//! | `machine.c` | the machine's names |
//! | `kept.rs` | memory besides that crash tools are to find |
//! | `room.rs`, `sort.rs`, `text.rs` | lists filled under a lock, sorting, printing |

pub(crate) mod glue;
pub(crate) mod kept;
pub(crate) mod queue;
pub(crate) mod room;
pub(crate) mod sort;
pub(crate) mod text;
