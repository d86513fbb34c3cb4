// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The memory of a component as a process maps it: the meta page, version 2.
//!
//! The file `map` of a component is one meta page, which starts with a [`Meta`], and then
//! [`Meta::places`] pages, which hold the rings and their pages while log calls go on.
//! Documentation/blog/formats.rst, "Mapped memory", has the rules for reading them.

use super::wire::{
    blog_wire,
    field::Field, //
};

/// Version of [`Meta`] and of the rules. A change that isn't growth at the end makes a new one.
///
/// In version 1, a page could be split into chunks, and rings had no page of their own.
pub const VERSION: u32 = 2;
/// [`Meta::magic`].
pub const MAGIC: [u8; 8] = *b"BLOG_MAP";
/// [`Meta::generation`]: the memory is gone.
pub const GONE: u32 = 0;

blog_wire! {
    /// What the meta page starts with; the rest of it is zeros.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Meta: 96 {
        /// [`MAGIC`].
        pub magic: [u8; 8],
        /// [`VERSION`].
        pub version: u32,
        /// Size of this structure in bytes.
        pub size: u32,
        /// Version of records and pages: `record::WIRE_VERSION`.
        pub wire_version: u32,
        /// Size of a page in bytes.
        pub page_size: u32,
        /// Where the first ring is in a page of rings, in bytes.
        pub rings_at: u32,
        /// Rings in a page of rings, one after the other.
        pub rings: u32,
        /// Pages after the meta page. It changes before `generation`.
        pub places: u32,
        /// Another number after each change of the places; [`GONE`]: the component has this memory
        /// no more.
        pub generation: u32,
        /// Size of a ring. What follows is where fields are in it: see `dump::RingLayout`.
        pub ring_size: u32,
        /// `u32`: its id within the component.
        pub id: u32,
        /// `u32`: odd while the other fields, but for the id, change.
        pub owner_version: u32,
        /// `u8`: 0 free, 1 live, 2 retired.
        pub state: u32,
        /// `u8`: context.
        pub context: u32,
        /// `u32`: CPU of a per-CPU ring, number of a shared one, else `u32::MAX`.
        pub cpu: u32,
        /// `i32`: thread id, or -1.
        pub pid: u32,
        /// `i32`: process id, or -1.
        pub tgid: u32,
        /// `[u8; 16]`: name of the task when it got the ring.
        pub comm: u32,
        /// `u64`: of a retired ring, when the task ended, in the ring's clock.
        pub exit_clock: u32,
        /// `u64`: pages of this owner have a position of at least this one.
        pub first_seq: u32,
        /// `[u64; 8]`: records lost, by cause.
        pub lost: u32,
        /// `[u64; 8]`: of these, those that records in the ring report.
        pub told: u32,
        /// The ring's own page, whose header has its size.
        pub room: u32,
    }
}
