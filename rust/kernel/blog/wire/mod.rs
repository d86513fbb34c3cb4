// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What leaves the kernel: the bytes of records, pages, snapshot files and crash dumps.
//!
//! Each format is defined here, once: the kernel writes by these files, and `blog-decode` includes
//! them by path to read. They need nothing but `core`, never allocate, and hold no state.
//!
//! | file | what it lays out |
//! |---|---|
//! | `record.rs` | a record and its header, control records, levels, contexts, causes of loss |
//! | `page.rs` | the header of a page |
//! | `name.rs` | which names components can have; the macros' crate includes it, too |
//! | `types.rs` | type codes, and the bytes of stored arguments |
//! | `pack.rs` | how arguments of C calls become these bytes |
//! | `file.rs` | the sections of a snapshot or stream |
//! | `dump.rs` | what crash tools find in a dump, from `blog_root` on |

pub mod dump;
pub mod file;
pub mod name;
pub mod pack;
pub mod page;
pub mod record;
pub mod types;
