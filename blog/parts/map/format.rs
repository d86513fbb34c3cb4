// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The memory of a component as a process maps it: the meta page, version 3.
//!
//! The file `map` of a component is one meta page, which starts with a [`Meta`], and then
//! [`Meta::pages`] pages, which hold the rings and their pages while log calls go on.
//! Documentation/blog/formats.rst, "Mapped memory", has the rules for reading them.

use super::wire::{
    blog_wire,
    field::Field, //
};

/// Version of [`Meta`] and of the rules. A change that isn't growth at the end makes a new one.
///
/// Until version 2, the meta page had the offsets of a ring's fields. In version 1, a page could be
/// split into chunks, and rings had no page of their own.
pub const VERSION: u32 = 3;
/// [`Meta::magic`].
pub const MAGIC: [u8; 8] = *b"BLOG_MAP";
/// [`Meta::generation`]: the memory is gone.
pub const GONE: u32 = 0;

blog_wire! {
    /// What the meta page starts with; the rest of it is zeros.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Meta: 40 {
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
        pub pages: u32,
        /// Another number after each change of the places; [`GONE`]: the component has this memory
        /// no more.
        pub generation: u32,
    }
}
