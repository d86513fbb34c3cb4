// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Decodes the records of BLog, the binary kernel logger.
//!
//! [`Captures`] opens files with their side tables, [`Captures::entries`] iterates over the records
//! that a [`Filter`] lets pass, in the order of time. An [`Entry`] has the message and all fields;
//! a [`Selector`] takes a field or an argument out of it by name, as a value or as text.
//!
//! ```
//! use blog_decode::{Captures, Error, EventKind, Expr, Filter, Selector, Val};
//!
//! # fn main() -> Result<(), Error> {
//! // Files, where side tables are, and where modules are installed.
//! let files = ["tests/golden/expected/new.snap", "Cargo.toml"];
//! let tables = ["tests/golden/expected/golden_mod.blogfmt".into()];
//! let captures = Captures::open(files, &tables, None);
//! for problem in captures.problems() {
//!     match problem.kind() {
//!         Error::NotOurs(_) => println!("left out: {problem}"),
//!         Error::CutOff | Error::NoTable { .. } => println!("not all is known: {problem}"),
//!         _ => return Err(problem),
//!     }
//! }
//! let condition = Expr::parse("arg.count >= 8 && level == info")?;
//! let filter = Filter { expr: Some(condition), ..Filter::default() };
//! let count = Selector::parse("arg.count")?.expect("a field");
//!
//! let mut sum = 0;
//! let mut entries = captures.entries(&filter);
//! for entry in &mut entries {
//!     match entry.event.kind {
//!         EventKind::Record { .. } => {
//!             println!("{} {}", entry.real(), String::from_utf8_lossy(&entry.message));
//!             if let Some(Val::Number(n)) = count.value(&entry) {
//!                 sum += n;
//!             }
//!         }
//!         EventKind::Loss { count, .. } => println!("{count} records are missing"),
//!         EventKind::Line { .. } => {}
//!     }
//! }
//! println!("{} records not decoded", entries.undecoded().sum());
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
    blog_answers::{accounts, check, group, hang, quantile, sums, table, tasks},
    blog_decode_core::{
        batch, boot, calendar, captures, chain, clock, decode, expr, field, filter, foreign, key,
        live, merge, open, output, queue, sidetable, spans,
    },
    blog_export as export,
    blog_file::{error, record, snapshot, unpack},
    blog_table as blogfmt, blog_vmcore as vmcore, blog_wire as wire,
};

pub use blog_decode_core::{
    captures::Captures,
    decode::{Entry, Filter, Undecoded},
    expr::Expr,
    field::{Selector, Val},
    merge::{Event, EventKind},
};
pub use blog_file::error::Error;
