// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! From files of BLog, the binary kernel logger, to records in the order of time, and to text.
//!
//! ```text
//! open.rs       opens a file, whatever records it has
//! merge/        all rings of all files, in the order of time; losses between pages
//! live.rs       the same of streams, as they come
//! chain.rs      which task waits for which
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
//! key.rs        what entries are grouped by
//! output/       an entry becomes a line of text, a JSON object, ...
//! spans.rs      from a record that starts something to the one that ends it
//! clock.rs      the ring's clock becomes a time
//! calendar.rs   dates as text
//! digits.rs     numbers as text
//! boot.rs       the boot of a file; one time for all of them
//! order.rs      the order of boots, where a wall clock can't be right
//! words.rs      last words in a kernel log become a stream
//! qr.rs         the kernel log in a QR code
//! ```
//!
//! An internal part of the library `blog-decode`: what that doesn't have changes with the program.
//!
//! Input is never trusted: every length is checked, memory is bounded by the size of the input, and
//! all damage is counted and reported.

#![forbid(unsafe_code)]

pub mod batch;
pub mod boot;
pub mod calendar;
pub mod captures;
pub mod chain;
pub mod clock;
pub mod decode;
pub mod digits;
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
pub mod queue;
pub mod sidetable;
pub mod spans;
mod transport;
pub mod words;

use blog_file::{error, kind, record, snapshot, unpack};
use blog_table as blogfmt;
use blog_vmcore as vmcore;
use blog_wire as wire;
