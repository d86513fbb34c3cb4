// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Memory that survives a reboot, and the file that the next boot makes of it, version 3.
//!
//! The kernel of the next boot may be another build, and the decoder another version. So what is
//! there are numbers that any build understands; nobody follows the pointers in it. The region
//! has, from its start on,
//!
//! 1. a page that starts with a [`Region`],
//! 2. two copies of the *facts*, each in [`Region::facts`] bytes: a [`Facts`], and the sections of
//!    a snapshot that say what the rings don't: system, clock, images, side tables, components,
//! 3. a `u64` for each frame, its *owner*: in the lower half, the component by the id that its
//!    section in the facts has, [`NOBODY`] or [`NONE`]; in the upper half, the number of its
//!    memory, of which a later one has a greater number,
//! 4. on the next multiple of a page, the *frames*: pages with records, or with rings, as they are
//!    in live memory.
//!
//! The file is the same, without frames whose owner is [`NOBODY`] or [`NONE`].

use core::ops::RangeInclusive;

use super::wire::{
    blog_wire,
    field::Field, //
};

/// Version of all that this file describes.
///
/// Until version 2, rings had other heads than a [`RingHead`](super::wire::ring::RingHead). In
/// version 1, a page could be split into chunks, and rings had no page of their own.
pub const VERSION: u32 = 3;
/// Versions of which the next boot makes a file.
pub const READS: RangeInclusive<u32> = 1..=VERSION;
/// [`Region::magic`].
pub const MAGIC: [u8; 8] = *b"BLOGKEPT";
/// Owner of a frame that is free.
pub const NOBODY: u32 = 0;
/// Owner of a frame that holds nothing for readers.
pub const NONE: u32 = u32::MAX;
/// Bytes of an owner.
pub const OWNER: usize = 8;

blog_wire! {
    /// What the region starts with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Region: 128 {
        /// [`MAGIC`].
        pub magic: [u8; 8],
        /// [`VERSION`].
        pub version: u32,
        /// `file::ENDIAN`.
        pub endian: u32,
        /// Version of records and pages: `record::WIRE_VERSION`.
        pub wire_version: u32,
        /// Version of the sections in the facts: `file::VERSION`.
        pub snapshot_version: u32,
        /// Size of a frame in bytes.
        pub page_size: u32,
        /// Where the first ring is in a page of rings. In version 1, size of each chunk of a split
        /// page.
        pub rings_at: u32,
        /// Rings in a page of rings, one after the other.
        pub rings: u32,
        /// Number of frames.
        pub frames: u32,
        /// Bytes of each copy of the facts.
        pub facts: u32,
        /// 0. Until version 2, where the fields of a ring were.
        pub rings_before: [u32; 20],
        /// CRC-32 of all before.
        pub crc: u32,
    }
}

blog_wire! {
    /// What a copy of the facts starts with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Facts: 16 {
        /// Grows by one with each copy, which takes the place of the last but one.
        pub generation: u64,
        /// Bytes of the sections that follow.
        pub len: u32,
        /// CRC-32 of the 12 bytes before, and of the sections.
        pub crc: u32,
    }
}

/// Why there is nothing to be had of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Nobody has logged there, or memory has lost its content.
    Empty,
    /// Another version has written it, which this is.
    Version(u32),
    /// What says where everything is makes no sense.
    Damaged,
}

/// Whether a frame with this owner holds something for readers.
pub const fn is_used(owner: u64) -> bool {
    !matches!(owner as u32, NOBODY | NONE)
}

/// The component and the number of its memory in an owner.
pub const fn parts(owner: u64) -> (u32, u32) {
    (owner as u32, (owner >> 32) as u32)
}

impl Facts {
    /// Bytes of it that its checksum is of.
    pub const SUMMED: usize = Self::SIZE - 4;
}

impl Region {
    /// Bytes that its checksum is of.
    pub const SUMMED: usize = Self::SIZE - 4;

    /// Whether this makes sense, of which `crc` is the checksum. How long the memory is, or the
    /// file, is for the caller to compare.
    pub fn check(&self, crc: u32) -> Result<(), Unreadable> {
        if self.magic != MAGIC {
            return Err(Unreadable::Empty);
        }
        if !READS.contains(&self.version) {
            return Err(Unreadable::Version(self.version));
        }
        let (page, at) = (self.page_size, self.rings_at);
        let sound = crc == self.crc
            && page.is_power_of_two()
            && (1 << 10..=1 << 20).contains(&page)
            && at.is_power_of_two()
            && (1 << 6..page).contains(&at)
            && self.facts % 8 == 0
            && self.facts as usize >= Facts::SIZE;
        sound.then_some(()).ok_or(Unreadable::Damaged)
    }

    /// Where a copy of the facts is.
    pub const fn facts_at(&self, copy: usize) -> u64 {
        self.page_size as u64 + copy as u64 * self.facts as u64
    }

    /// Where the owners of the frames are.
    pub const fn owners_at(&self) -> u64 {
        self.facts_at(2)
    }

    /// Where the frames are.
    pub const fn frames_at(&self) -> u64 {
        let owners = self.frames as u64 * OWNER as u64;
        // A power of two. This divides by nothing that might be 0.
        let rest = (self.page_size as u64).wrapping_sub(1);
        (self.owners_at() + owners + rest) & !rest
    }

    /// Size of the region in bytes, as far as it is used.
    pub const fn end(&self) -> u64 {
        self.frames_at() + self.frames as u64 * self.page_size as u64
    }

    /// The owners of all frames, of the bytes of a region or a file.
    pub fn owners<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        let at = self.owners_at() as usize;
        (0..self.frames as usize).map_while(move |n| {
            let owner = bytes.get(at.wrapping_add(n.wrapping_mul(OWNER))..)?;
            Some(u64::from_le_bytes(*owner.first_chunk()?))
        })
    }
}
