// SPDX-License-Identifier: GPL-2.0

//! The stream file: what is in the rings, and then what comes, as it comes.
//!
//! There is a file `stream` for each component and one for all: [`Reader`]. The format is that of
//! a snapshot without its end (`wire/file.rs`: `FLAG_STREAM`). An open file has a [`Stream`] with a
//! place in each ring of its own, so readers don't know of each other, and a stream consumes
//! nothing but its own place.
//!
//! | file | what it is |
//! |---|---|
//! | `reader.rs` | the file: open, read, poll |
//! | `passes.rs` | going through all rings, again and again |
//! | `watched.rs` | a component, as far as it was read |
//! | `seen.rs` | a ring, as far as it was read: its section, and pieces of its pages |
//! | `news.rs` | who waits, and whether there is anything new for him |
//!
//! # Passes
//!
//! A [`Stream`] goes through the rings in passes. For each ring that has more records than were
//! read, it writes the pages from where it was: pieces of pages, up to the record that was the
//! last one when it came to the ring, so that a busy ring can't hold it. A ring's section comes
//! before its first piece, and again when its counts have changed. A page is found by the link in
//! the one before, so a pass costs a look at each ring, and a copy of each page that has news.
//! A pass in which there is nothing to write is *dry*: then the reader waits.
//!
//! # Losses
//!
//! Each piece says which record of its ring is its first. If that isn't the one which this reader
//! expects, the writer has taken pages back in between: a lost record ([`Lost::ReaderLag`]) at the
//! start of the piece tells how many records are missing. What is left of a ring that went to
//! another task before it was read can't be told there; it is in the section of the component.
//!
//! # Waking up
//!
//! A log call wakes nobody. While somebody waits, `blog_stream_tick` looks at all rings of the
//! components in question about 50 times a second, and where anything has changed it moves a
//! count on: *news*. Who waits goes by that count; it was read before the dry pass, so what came
//! after the pass is news for sure.
//!
//! [`Stream`]: passes::Stream
//! [`Lost::ReaderLag`]: kernel::blog::wire::record::Lost::ReaderLag

mod news;
pub(crate) mod passes;
mod reader;
mod seen;
mod watched;

pub(crate) use self::{
    news::{
        changed,
        looks,
        stop, //
    },
    reader::Reader, //
};
