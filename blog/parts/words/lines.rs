// SPDX-License-Identifier: GPL-2.0

//! Lines of last words while they are made: sections, packed. Any context.

use kernel::{
    blog::wire::{
        file::{
            self as format,
            Kind, //
        },
        words::{
            LINES,
            PACKED_ALL,
            PACKED_MAX,
            RAW_MAX, //
        }, //
    },
    prelude::*,
    transmute::AsBytes, //
};

use super::console::Deflate;
use crate::read::sections::{
    self,
    Form, //
};

const HEADER: usize = size_of::<format::SectionHeader>();
/// A line is not begun if it would have to be shorter.
const LEAST: usize = 340;
/// How often the packer runs for all lines together.
const PACKS: u32 = 100;

pub(crate) struct Lines {
    packer: Deflate,
    /// Sections of the line that is being made.
    raw: KVVec<u8>,
    len: usize,
    /// All lines that are complete, and the one that is being made.
    packed: KVVec<[u8; PACKED_MAX]>,
    lens: [usize; LINES],
    pub(crate) count: usize,
    /// Bytes that are left for the others, and how often the packer may still run.
    left: usize,
    packs: u32,
}

impl Lines {
    /// Process context.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            packer: Deflate::new()?,
            raw: KVVec::from_elem(0, RAW_MAX, GFP_KERNEL)?,
            len: 0,
            packed: KVVec::from_elem([0; PACKED_MAX], LINES, GFP_KERNEL)?,
            lens: [0; LINES],
            count: 0,
            left: 0,
            packs: 0,
        })
    }

    pub(crate) fn clear(&mut self) {
        (self.count, self.left, self.packs) = (0, PACKED_ALL, PACKS);
    }

    pub(crate) fn are_full(&self) -> bool {
        self.count >= LINES || self.left < LEAST || self.packs == 0
    }

    /// Begins a line, from scratch if it was begun already.
    pub(crate) fn begin(&mut self) -> Option<()> {
        let header = sections::file_header(Form::Stream).ok()?;
        let bytes = header.as_bytes();
        self.raw.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.len = bytes.len();
        Some(())
    }

    /// Adds a section; `None`: there is no room for it.
    pub(crate) fn add(&mut self, kind: Kind, parts: &[&[u8]]) -> Option<()> {
        let mut end = self.len + HEADER;
        for part in parts {
            let to = self.raw.get_mut(end..end + part.len())?;
            to.copy_from_slice(part);
            end += part.len();
        }
        let header = format::SectionHeader {
            magic: format::SECTION_MAGIC,
            kind: kind as u16,
            flags: 0,
            len: (end - self.len - HEADER) as u64,
            index: 0,
            reserved: 0,
            // The line has one.
            payload_crc: 0,
            crc: 0,
        };
        let padded = end.next_multiple_of(8);
        self.raw.get_mut(end..padded)?.fill(0);
        let to = self.raw.get_mut(self.len..self.len + HEADER)?;
        to.copy_from_slice(header.as_bytes());
        self.len = padded;
        Some(())
    }

    /// Packs the line. `None`: it would be longer than `share`, or if it is the first one, which
    /// has more to say, than a line may be.
    pub(crate) fn pack(&mut self, share: usize) -> Option<()> {
        self.packs = self.packs.checked_sub(1)?;
        let most = match self.count {
            0 => PACKED_MAX,
            _ => share.clamp(LEAST, PACKED_MAX).min(self.left),
        };
        let to = self.packed.get_mut(self.count)?.get_mut(..most)?;
        *self.lens.get_mut(self.count)? = self.packer.pack(self.raw.get(..self.len)?, to)?;
        Some(())
    }

    /// Completes the line, as it was packed last.
    pub(crate) fn end(&mut self) {
        if let Some(len) = self.lens.get(self.count) {
            self.left = self.left.saturating_sub(*len);
            self.count += 1;
        }
    }

    pub(crate) fn packed(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let lines = self.packed.iter().zip(self.lens).take(self.count);
        lines.map(|(line, len)| line.get(..len).unwrap_or_default())
    }
}
