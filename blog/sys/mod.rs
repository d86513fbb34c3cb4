// SPDX-License-Identifier: GPL-2.0

//! What the kernel crate lacks, and the seam to what patches add to the core kernel. A file in C
//! that Rust calls has one in Rust beside it.
//!
//! | file | what it is |
//! |---|---|
//! | `glue.h`, `glue.rs` | what C and Rust call of each other; what bindings have |
//! | `hook.c` | what the core kernel calls, built in: tasks that end, crashes |
//! | `debugfs.rs` | files that are more than a text |
//! | `exports.c`, `params.c` | symbols for drivers, module parameters |
//! | `modules.c` | what is built in, and modules that come and go |
//! | `pages.c` | pages of the kernel's memory |
//! | `quiesce.c` | waiting for log calls |
//! | `work.c` | work items, which are there from the start |
//! | `waiters.c` | readers that wait |
//! | `machine.c` | names: the machine's, a file's |
//! | `kept.rs` | memory besides that crash tools are to find |

pub(crate) mod debugfs;
pub(crate) mod glue;
pub(crate) mod hook;
pub(crate) mod kept;
pub(crate) mod machine;
pub(crate) mod modules;
pub(crate) mod pages;
pub(crate) mod params;
pub(crate) mod quiesce;
pub(crate) mod waiters;
pub(crate) mod work;
