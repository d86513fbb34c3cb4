// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Questions to files of BLog, the binary kernel logger.
//!
//! ```text
//! sums.rs      records, bytes and time by component, ring and site
//! group.rs     how many records have the same fields
//! quantile.rs  how values are distributed
//! accounts.rs  accounts for every record of each ring, for --stats
//! check.rs     whether a file adds up
//! table.rs     tables of answers, as lines or objects
//! tasks.rs     what each task did last, the likely culprit first
//! hang.rs      who holds up whom: findings, and trees of tasks
//! ```
//!
//! An internal part of the program `blog-decode`: it changes with that.

#![forbid(unsafe_code)]

pub mod accounts;
pub mod check;
pub mod group;
pub mod hang;
pub mod quantile;
pub mod sums;
pub mod table;
pub mod tasks;
