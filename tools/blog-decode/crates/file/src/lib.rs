// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Files of BLog, the binary kernel logger.
//!
//! ```text
//! snapshot/   a file: sections, checksums, damage; where each page is
//! unpack.rs   files that gzip, zstd and xz have packed
//! record.rs   a page: records, in-band losses, time
//! kind.rs     the kind of an unexpected file
//! error.rs    why there is no result
//! ```
//!
//! Input is never trusted: every length is checked, memory is bounded by the size of the input, and
//! all damage is counted.
//!
//! An internal part of the program `blog-decode`: it changes with that.

#![forbid(unsafe_code)]

pub mod error;
pub mod kind;
pub mod record;
pub mod snapshot;
pub mod unpack;

use blog_table as blogfmt;
use blog_wire as wire;
