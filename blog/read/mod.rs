// SPDX-License-Identifier: GPL-2.0

//! Readers: the files `snapshot` and `stream`, of each component and of all.
//!
//! A snapshot has what is in the rings now; a stream has that, and then what comes, as it comes.
//! Both are one [`Walk`] through all rings: a snapshot is the first pass of a stream, with the
//! tasks and an end. The format is that of `rust/kernel/blog/wire/file.rs`. Each open file has a
//! walk of its own, so readers don't know of each other, and take nothing from the rings. They
//! never make a log call wait.
//!
//! How it goes through the rings, counts what is missing and waits is in
//! Documentation/blog/internals.rst, "Readers". A pass in which there is nothing to write is *dry*:
//! then the reader of a stream waits. A component's lock is held for one section, or for [a number
//! of rings](component::RINGS) without news.
//!
//! [`Walk`]: walk::Walk

mod component;
mod file;
pub(crate) mod piece;
mod ring;
pub(crate) mod sections;
pub(crate) mod selection;
pub(crate) mod walk;

pub(crate) use self::{
    file::Reader,
    walk::looks, //
};
