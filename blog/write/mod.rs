// SPDX-License-Identifier: GPL-2.0

//! The rest of a log call: its slow path, and the tables of tasks.

#[cfg(CONFIG_BLOG_PARTS)]
mod clear;
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod each;
#[cfg(CONFIG_BLOG_PARTS)]
mod mend;
pub(crate) mod slow;
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod stored;
pub(crate) mod tables;
#[cfg(CONFIG_BLOG_ROOT)]
pub(crate) mod tables_dumped;
pub(crate) mod worker;
