// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The bytes that leave the kernel: records, pages, snapshot files, mapped memory, crash dumps, and
//! memory that survives a reboot.
//!
//! Each format is defined here, once: the kernel writes by these files, and `blog-decode` includes
//! them by path to read. They need nothing but `core`, never allocate, and hold no state.

pub mod dump;
pub mod file;
pub mod map;
pub mod name;
pub mod pack;
pub mod page;
pub mod persist;
pub mod record;
pub mod thin;
pub mod types;
pub mod words;
