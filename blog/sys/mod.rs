// SPDX-License-Identifier: GPL-2.0

//! Functions that the kernel crate lacks, and the seam to the patches of the core kernel. A file in
//! C that Rust calls has a file in Rust beside it.

pub(crate) mod glue;
pub(crate) mod hook;
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod nofault;
pub(crate) mod pages;
pub(crate) mod params;
pub(crate) mod prelude;
pub(crate) mod quiesce;
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod tracepoint;
pub(crate) mod tree;
