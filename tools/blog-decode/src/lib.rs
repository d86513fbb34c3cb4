// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Decodes the records of BLog, the binary kernel logger.
//!
//! [`Captures`] opens files with their side tables, [`Captures::for_each`] goes through the records
//! that a [`Filter`] lets pass, in the order of time. An [`Entry`] has the message and all fields;
//! a [`Selector`] takes a field or an argument out of it by name, as a value or as text.
//!
//! ```
//! use blog_decode::{Captures, Content, Expr, Filter, Selector, Val};
//!
//! # fn main() -> Result<(), blog_decode::Error> {
//! // A file, where side tables are, and where modules are installed.
//! let tables = ["tests/golden/expected/golden_mod.blogfmt".into()];
//! let captures = Captures::open(["tests/golden/expected/new.snap"], &tables, None)?;
//! let condition = Expr::parse("arg.count >= 8 && level == info")?;
//! let filter = Filter { expr: Some(condition), ..Filter::default() };
//! let count = Selector::parse("arg.count")?.expect("a field");
//!
//! let mut sum = 0;
//! let undecoded = captures.for_each(&filter, |entry| match &entry.content {
//!     Content::Record(record) => {
//!         println!("{} {}", entry.real(), String::from_utf8_lossy(record.message));
//!         let subject = entry.subject().expect("a record has fields");
//!         if let Some(Val::Number(n)) = count.value(&subject) {
//!             sum += n;
//!         }
//!     }
//!     Content::Loss { count, .. } => println!("{count} records are missing"),
//!     Content::Line { .. } => {}
//! });
//! println!("{} records not decoded", undecoded.sum());
//! assert_eq!(sum, 8 + 16);
//! # Ok(())
//! # }
//! ```
//!
//! `examples/fields.rs` is a program of some 40 lines. With `default-features = false`, neither the
//! command line nor libkdumpfile is needed.
//!
//! Input is never trusted: every length is checked, memory is bounded by the size of the input, and
//! all damage is counted and reported. Nothing here is `unsafe`.
//!
//! # How it is made
//!
//! Each crate knows those below it. They are internal, and change with the program:
//!
//! ```text
//! src/cli          the program: commands, options, the terminal
//! crates/answers   sums, counts, tasks; whether a file adds up
//! crates/export    HTML, Perfetto, CTF, OTLP, Parquet
//! crates/decode    all rings in the order of time; call sites, messages, filters; text, JSON, CSV
//! crates/vmcore    a crash dump becomes a snapshot
//! crates/file      a file: packed or not, sections, pages, records
//! crates/table     side tables and ELF
//! crates/wire      the kernel's definitions of records and snapshots
//! ```

#![forbid(unsafe_code)]

// For this program, blog-ctl and the fuzz targets.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

#[cfg(feature = "cli")]
use {
    blog_answers::{accounts, check, counts, quantile, sums, tasks},
    blog_decode_core::{
        batch, boot, calendar, captures, chain, clock, decode, expr, field, filter, foreign, key,
        live, merge, open, output, queue, sidetable, spans,
    },
    blog_export as export,
    blog_file::{error, record, snapshot},
    blog_table as blogfmt, blog_vmcore as vmcore, blog_wire as wire,
};

pub use blog_decode_core::{
    captures::Captures,
    decode::{Content, Entry, Filter, Record, Undecoded},
    expr::Expr,
    field::{Selector, Val},
};
pub use blog_file::error::Error;
