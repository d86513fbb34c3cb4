// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A page: the header in front of the records that a part of a ring holds.

/// First word of every page.
pub const PAGE_MAGIC: u32 = u32::from_le_bytes(*b"BLPG");

/// Bits of [`PageInfo::seq`] that hold the position. A ring never gets to 2^48 pages.
pub const SEQ_BITS: u32 = 48;
/// Mask of the bits of [`PageInfo::seq`] that hold the position.
pub const SEQ_MASK: u64 = (1 << SEQ_BITS) - 1;

/// Size in bytes of the header at the start of a page; records follow it.
pub const PAGE_HEADER_SIZE: usize = 48;

/// A copy of the header at the start of a page, at rest (in a snapshot). [`ring::PageHeader`] is
/// the live form of the same layout.
///
/// [`ring::PageHeader`]: ../../ring/struct.PageHeader.html
///
/// A page can be decoded alone: it holds the full clock of its start and the ordinal of its first
/// record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PageInfo {
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
    /// Ordinal of the page's first record: how many records the ring had taken before it. Control
    /// records don't count.
    pub first: u64,
    /// Published end of the page in bytes from its start (low half), and number of published
    /// records, control records not counted (high half). One word, so that one store publishes
    /// both.
    pub commit: u64,
}

const _: () = assert!(core::mem::size_of::<PageInfo>() == PAGE_HEADER_SIZE);

impl PageInfo {
    /// The header that a page at rest starts with; `None` where that is too short.
    pub fn read(page: &[u8]) -> Option<Self> {
        let word = |n: usize| Some(u64::from_le_bytes(*page.get(n * 8..)?.first_chunk()?));
        let (head, place) = (word(0)?, word(1)?);
        Some(Self {
            magic: head as u32,
            size: (head >> 32) as u32,
            ring: place as u32,
            next: (place >> 32) as u32,
            seq: word(2)?,
            base: word(3)?,
            first: word(4)?,
            commit: word(5)?,
        })
    }

    /// As it stands at the start of a page.
    pub fn bytes(&self) -> [u8; PAGE_HEADER_SIZE] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let words = [
            pair(self.magic, self.size),
            pair(self.ring, self.next),
            self.seq,
            self.base,
            self.first,
            self.commit,
        ];
        let mut bytes = [0; PAGE_HEADER_SIZE];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The published end in bytes from the page's start.
    pub const fn end(&self) -> u32 {
        self.commit as u32
    }

    /// The number of published records.
    pub const fn records(&self) -> u32 {
        (self.commit >> 32) as u32
    }
}
