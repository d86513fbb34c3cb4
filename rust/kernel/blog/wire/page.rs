// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A page: the header in front of the records that a part of a ring holds.

use super::field::Field;

/// First word of every page.
pub const PAGE_MAGIC: u32 = u32::from_le_bytes(*b"BLPG");
/// In its place: a page of rings, which are at [`RINGS_AT`]. It has a header for those who have
/// found it as a page before: there is no position, and `ring` is the id of the first one.
pub const RINGS_MAGIC: u32 = u32::from_le_bytes(*b"BLRG");
/// Where the first ring is in a page of rings, in bytes; the others follow.
pub const RINGS_AT: usize = 64;
/// Size of a ring. Its own page begins at [`ROOM_AT`]; the header of that has its size.
pub const RING_SIZE: usize = 576;
/// Where the own page is in a ring.
pub const ROOM_AT: usize = 256;
/// In a ring's first word: a record is being written into the ring, or a page turned. In the low
/// half of it is the component's slot.
pub const RING_BUSY: u32 = 1 << 31;

/// Bits of [`PageInfo::seq`] that hold the position. A ring never gets to 2^48 pages.
pub const SEQ_BITS: u32 = 48;
/// Mask of the bits of [`PageInfo::seq`] that hold the position.
pub const SEQ_MASK: u64 = (1 << SEQ_BITS) - 1;

/// Size in bytes of the header at the start of a page; records follow it.
pub const PAGE_HEADER_SIZE: usize = 48;

blog_wire! {
    /// A copy of the header at the start of a page, at rest (in a snapshot). [`ring::PageHeader`]
    /// is the live form of the same layout.
    ///
    /// [`ring::PageHeader`]: ../../ring/struct.PageHeader.html
    ///
    /// A page can be decoded alone: it holds the full clock of its start and the ordinal of its
    /// first record.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PageInfo: 48 {
        /// [`PAGE_MAGIC`].
        pub magic: u32,
        /// Size of the page in bytes, this header included.
        pub size: u32,
        /// Id of the ring within its component.
        pub ring: u32,
        /// Pool index of the next newer page of the ring. Means nothing to readers.
        pub next: u32,
        /// Position of this page in its ring, from 1; grows by one a page. 0: in no ring.
        ///
        /// In live memory, the bits above [`SEQ_BITS`] count how often the page has begun anew.
        pub seq: u64,
        /// Full clock value at the page's start.
        pub base: u64,
        /// Ordinal of the page's first record: how many records the ring had taken before it.
        /// Control records don't count.
        pub first: u64,
        /// Published end of the page in bytes from its start (low half), and number of published
        /// records, control records not counted (high half). One word, so that one store publishes
        /// both.
        pub commit: u64,
    }
}

impl PageInfo {
    /// The published end in bytes from the page's start.
    pub const fn end(&self) -> u32 {
        self.commit as u32
    }

    /// The number of published records.
    pub const fn records(&self) -> u32 {
        (self.commit >> 32) as u32
    }
}
