// SPDX-License-Identifier: GPL-2.0

//! Lines of last words while they are made: sections, packed. Any context.

use kernel::{
    bindings::task_struct,
    blog::wire::file,
    prelude::*,
    transmute::AsBytes, //
};

use super::format;
use crate::read::sections;

const HEADER: usize = size_of::<file::SectionHeader>();
/// A line is not begun if it would have to be shorter.
const LEAST: usize = 340;
/// About so much of a line, packed, comes before its records.
const FRONT: usize = 150;
/// How often the packer runs for all lines together.
const PACKS: u32 = 100;

unsafe extern "C" {
    // words.c
    fn blog_pack(room: *mut u64, from: *const u8, len: usize, to: *mut u8, size: usize) -> usize;
    safe fn blog_pack_room() -> usize;
    pub(super) safe fn blog_words_due(why: u32) -> bool;
    // As in blog/sys/hook.rs
    #[allow(improper_ctypes)]
    pub(super) fn blog_words_hung(task: *mut task_struct);
    pub(super) fn blog_words_print(line: *const c_char, len: u32);
    pub(super) safe fn blog_words_start();
}

pub(crate) struct Lines {
    /// What the packer needs.
    packer: KVVec<u64>,
    /// Sections of the line that is being made.
    raw: KVVec<u8>,
    len: usize,
    /// Lines that are complete, one after the other, and then the one that is being made.
    packed: KVVec<u8>,
    /// Where each line ends.
    ends: [usize; format::LINES],
    pub(crate) count: usize,
    /// How often the packer may still run.
    packs: u32,
}

impl Lines {
    /// Process context.
    pub(crate) fn new() -> Result<Self> {
        let words = blog_pack_room().div_ceil(size_of::<u64>());
        Ok(Self {
            packer: KVVec::from_elem(0, words, GFP_KERNEL)?,
            raw: KVVec::from_elem(0, format::RAW_MAX, GFP_KERNEL)?,
            len: 0,
            packed: KVVec::from_elem(0, format::PACKED_ALL + format::RAW_MAX, GFP_KERNEL)?,
            ends: [0; format::LINES],
            count: 0,
            packs: 0,
        })
    }

    pub(crate) fn clear(&mut self) {
        (self.count, self.packs) = (0, PACKS);
    }

    /// Where a line begins.
    fn start(&self, n: usize) -> usize {
        let before = n.checked_sub(1).and_then(|n| self.ends.get(n));
        before.copied().unwrap_or(0)
    }

    /// Bytes that are left for the one that is being made.
    fn left(&self) -> usize {
        format::PACKED_ALL.saturating_sub(self.start(self.count))
    }

    pub(crate) fn are_full(&self) -> bool {
        self.count >= format::LINES || self.left() < LEAST || self.packs == 0
    }

    /// Begins a line, from scratch if it was begun already.
    pub(crate) fn begin(&mut self) -> Option<()> {
        let header = sections::file_header(sections::Form::Stream).ok()?;
        let bytes = header.as_bytes();
        self.raw.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.len = bytes.len();
        Some(())
    }

    /// Adds a section; `None`: there is no room for it.
    pub(crate) fn add(&mut self, kind: file::Kind, parts: &[&[u8]]) -> Option<()> {
        let mut end = self.len + HEADER;
        for part in parts {
            let to = self.raw.get_mut(end..end + part.len())?;
            to.copy_from_slice(part);
            end += part.len();
        }
        let header = file::SectionHeader {
            magic: file::SECTION_MAGIC,
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

    /// Packs the line, of which `size` bytes are records, and completes it. `Err`: it would be
    /// longer than `share`, or if it is the first one, which has more to say, than a line may be.
    /// About so many bytes of records would fit.
    pub(crate) fn pack(&mut self, share: usize, size: usize) -> Result<(), usize> {
        let most = match self.count {
            0 => format::PACKED_MAX,
            _ => share.clamp(LEAST, format::PACKED_MAX).min(self.left()),
        };
        self.packs = self.packs.saturating_sub(1);
        let start = self.start(self.count);
        let from = self.raw.get(..self.len).unwrap_or_default();
        let to = self.packed.get_mut(start..).unwrap_or_default();
        let room = self.packer.as_mut_ptr();
        // SAFETY: All of them are valid for their length; the packer has the room that it needs.
        let len = unsafe { blog_pack(room, from.as_ptr(), from.len(), to.as_mut_ptr(), to.len()) };
        if (1..=most).contains(&len) {
            *self.ends.get_mut(self.count).ok_or(0usize)? = start + len;
            self.count += 1;
            return Ok(());
        }
        let behind = |bytes: usize| bytes.saturating_sub(FRONT);
        let fit = size * behind(most) / behind(len.max(most)).max(1);
        Err(fit.min(size * 15 / 16))
    }

    pub(crate) fn packed(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let range = |n| self.start(n)..self.start(n + 1);
        (0..self.count).map(move |n| self.packed.get(range(n)).unwrap_or_default())
    }
}
