// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Decodes the records of BLog, the binary kernel logger.
//!
//! ```text
//! open.rs       opens a file, whatever records it has
//! merge/        all rings of all files, in the order of time; losses between pages
//! live.rs       the same of streams, as they come
//! transport/    undoes what happened to lines of a log on their way to a file
//! foreign.rs    lines of other logs: dmesg, ftrace
//! identity.rs   which files with the same boot id are of one machine
//! sidetable.rs  finds call sites: tables and ELF images, by build ID
//! format/       a call site's format string, applied to a record's bytes
//! captures.rs   files with their side tables
//! queue.rs      jobs of other threads, whose results keep their order
//! batch.rs      events that other threads decode
//! decode.rs     an event becomes an entry: site, message
//! filter.rs     selects entries
//! expr/         conditions on entries
//! field.rs      the fields of an entry by name
//! output/       an entry becomes a line of text, a JSON object, ...
//! accounts.rs   accounts for every record of each ring, for --stats
//! check.rs      whether a file adds up
//! sums.rs       records, bytes and time by component, ring and site
//! counts.rs     how many records have the same fields
//! spans.rs      from a record that starts something to the one that ends it
//! quantile.rs   how values are distributed
//! clock.rs      the ring's clock becomes a time
//! calendar.rs   dates as text
//! digits.rs     numbers as text
//! boot.rs       the boot of a file; one time for all of them
//! order.rs      the order of boots, where a wall clock can't be right
//! words.rs      last words in a kernel log become a stream
//! qr.rs         the kernel log in a QR code
//! tasks.rs      what each task did last, the likely culprit first
//! cli/          commands and options, and all of the above in a row
//! crates/wire   the kernel's definitions of records and snapshots: `wire`
//! crates/table  side tables and ELF: `blogfmt`
//! crates/file   a file: packed or not, sections, pages, records
//! crates/vmcore a crash dump becomes a snapshot: `vmcore`
//! ```
//!
//! # For other programs
//!
//! [`Captures`] opens files with their side tables, [`Captures::for_each`] goes through the records
//! that a [`Filter`] lets pass, in the order of time. An [`Entry`] has the message and all fields;
//! a [`Selector`] takes a field or an argument out of it by name, as a value or as text.
//! `examples/fields.rs` does all of that in some 40 lines. These names stay; everything else serves
//! the program `blog-decode`, and changes with it. With `default-features = false`, neither the
//! command line nor libkdumpfile is needed.
//!
//! Input is never trusted: every length is checked, memory is bounded by the size of the input, and
//! all damage is counted and reported. Nothing here is `unsafe`.

#![forbid(unsafe_code)]

pub mod accounts;
mod batch;
pub mod boot;
mod calendar;
pub mod captures;
pub mod chain;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod clock;
pub mod counts;
pub mod decode;
mod digits;
pub mod expr;
pub mod field;
pub mod filter;
pub mod foreign;
pub mod format;
mod identity;
pub mod key;
pub mod live;
pub mod merge;
pub mod open;
mod order;
pub mod output;
pub mod qr;
pub mod quantile;
mod queue;
pub mod sidetable;
pub mod spans;
pub mod sums;
pub mod tasks;
mod transport;
pub mod words;

use blog_file::kind;
pub use blog_file::{error, record, snapshot, unpack};
pub use blog_table as blogfmt;
pub use blog_vmcore as vmcore;
pub use blog_wire as wire;

pub use crate::{
    captures::Captures,
    decode::{Content, Entry, Filter, Record, Undecoded},
    error::Error,
    expr::Expr,
    field::{Selector, Val},
};
