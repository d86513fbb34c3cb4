// SPDX-License-Identifier: GPL-2.0

//! Readers: the files `snapshot` and `stream`, of each component and of all.
//!
//! A snapshot has the records that are in the rings now; a stream has these, and then new records
//! as they come. Both are one [`Walk`] through all rings: a snapshot is the first pass of a stream,
//! with the tasks and an end. The format is that of `rust/kernel/blog/wire/file.rs`. Each open file
//! has a walk of its own, so readers don't affect each other, and take nothing from the rings. They
//! never make a log call wait.
//!
//! Documentation/blog/, "Readers", explains how a walk goes through the rings,
//! counts missing records, and waits. A pass with nothing to write is *dry*: then the reader of a
//! stream waits. A walk holds a component's lock for one section, or for [a number of
//! rings](component::RINGS) without news.
//!
//! [`Walk`]: walk::Walk

#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod choice;
pub(crate) mod component;
mod file;
pub(crate) mod piece;
pub(crate) mod ring;
pub(crate) mod sections;
pub(crate) mod selection;
pub(crate) mod walk;

pub(crate) use self::file::Reader;
