// SPDX-License-Identifier: GPL-2.0

//! Readers: the files `snapshot` and `stream`, of each component and of all.
//!
//! A snapshot has what is in the rings now; a stream has that, and then what comes, as it comes.
//! Both are one [`Walk`] through all rings: a snapshot is the first pass of a stream, with the
//! tasks and an end. The format is that of `rust/kernel/blog/wire/file.rs`. Each open file has a
//! walk of its own, so readers don't know of each other, and take nothing from the rings. They
//! never make a log call wait.
//!
//! | file | what it is |
//! |---|---|
//! | `file.rs` | the files: open, read, poll |
//! | `walk.rs` | going through all rings, again and again |
//! | `component.rs` | a component, as far as it was read |
//! | `ring.rs` | a ring, as far as it was read: its section, and pieces of its pages |
//! | `piece.rs` | what of a copied page is new; the records of a page |
//! | `withheld.rs` | what a reader without the right to see addresses does not get |
//! | `sections.rs` | writes one section at a time |
//!
//! # Passes
//!
//! A walk goes through the rings in passes. For each ring that has more records than were read, it
//! writes the pages from where it was: pieces of pages, up to the record that was the last one when
//! it came to the ring, so that a busy ring can't hold it. A ring's section comes before its first
//! piece, and in a stream again when its counts have changed. A page is found by the link in the
//! one before, so a pass costs a look at each ring, and a copy of each page that has news. A pass
//! in which there is nothing to write is *dry*: then the reader of a stream waits. A component's
//! lock is held for one section, or for [a number of rings](component::RINGS) without news.
//!
//! # Losses
//!
//! A page that its writer takes while it is copied is dropped, and the ring's oldest page is the
//! next. What is missing shows in the number of the next piece's first record. In a stream, a lost
//! record ([`Lost::ReaderLag`]) at the start of that piece tells of it, too. What is left of a ring
//! that went to another task before it was read is in the section of its component, which comes
//! again after the rings where it has changed.
//!
//! # Waiting
//!
//! A log call wakes nobody. A reader that waits looks again after a while: a blocking `read`
//! sleeps, and for `poll` a delayed work wakes all that wait, to look. Only `poll` and a `read`
//! that has found nothing queue that work, so when nobody waits any more, nothing runs.
//!
//! [`Walk`]: walk::Walk
//! [`Lost::ReaderLag`]: kernel::blog::wire::record::Lost::ReaderLag

mod component;
mod file;
pub(crate) mod piece;
mod ring;
pub(crate) mod sections;
pub(crate) mod walk;
pub(crate) mod withheld;

pub(crate) use self::{
    file::Reader,
    walk::looks, //
};
