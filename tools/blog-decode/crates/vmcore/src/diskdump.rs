// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The headers of a compressed dump: whether the file is one part of several, and whether it is
//! complete. libkdumpfile notices that only if it needs the missing part.
//!
//! ```text
//! block 0          header
//! block 1          sub-header: sub_hdr_size blocks
//! then             two bitmaps: bitmap_blocks blocks. The second one has a bit for each page in the dump
//! then             a descriptor for each of these pages: offset and size of its data
//! then             the data
//! ```

use std::{ops::Range, os::unix::fs::FileExt};

use crate::blogfmt::bytes::{u32_at, u64_at};

/// How such a file starts.
const SIGNATURE: &[u8] = b"KDUMP   ";
/// As much has all that is read of header and sub-header, with the largest pages.
pub(super) const START: usize = (64 << 10) + 104;
/// Of the machine and the time: the same in all parts.
const MACHINE: Range<usize> = 12..424;
const STATUS: usize = 424;
const BLOCK_SIZE: usize = 428;
const SUB_BLOCKS: usize = 432;
const BITMAP_BLOCKS: usize = 436;
const MAX_FRAME: usize = 440;
/// In the sub-header.
const SPLIT: usize = 12;
const FRAMES: usize = 16;
const FRAMES_64: usize = 80;
const MAX_FRAME_64: usize = 96;
/// In the status: makedumpfile had no room for the rest.
const INCOMPLETE: u32 = 8;
/// Of a page.
const DESCRIPTOR: u64 = 24;
/// As many of the last descriptors are looked at: pages of zeros have the data of another one.
const LAST: u64 = 4096;
/// A bitmap is read in pieces of this.
const PIECE: usize = 64 << 10;

/// One part of a dump that was split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What all parts of the same dump have in common.
    dump: Vec<u8>,
    /// Page frames that are in it.
    frames: Range<u64>,
    /// How many the machine has.
    of: u64,
}

impl Part {
    /// Whether both are of one dump.
    pub fn is_same_dump(&self, other: &Self) -> bool {
        self.dump == other.dump
    }
}

/// What is missing of a dump of which these parts are there.
pub(super) fn missing(mut parts: Vec<Part>) -> Option<String> {
    parts.sort_by_key(|part| part.frames.start);
    let of = parts.iter().map(|part| part.of).max()?;
    let mut at = 0;
    for part in &parts {
        if part.frames.start > at {
            break;
        }
        at = at.max(part.frames.end);
    }
    (at < of).then(|| {
        format!(
            "it is a part of a dump that was split: page frames from {at} of {of} on are in others; \
             give each with --vmcore"
        )
    })
}

/// What a file says of itself that starts so.
pub(super) struct Header {
    /// Bytes of a block, and of a page.
    pub(super) block: u64,
    sub_blocks: u64,
    bitmap_blocks: u64,
    status: u32,
    frames: Range<u64>,
    /// It is one part of several.
    pub(super) part: Option<Part>,
}

impl Header {
    /// `None`: it isn't such a dump, or damaged.
    pub(super) fn parse(start: &[u8]) -> Option<Self> {
        if !start.starts_with(SIGNATURE) {
            return None;
        }
        let number = |at| u32_at(start, at).map(u64::from);
        let block = number(BLOCK_SIZE)?;
        let has_64 = u32_at(start, SIGNATURE.len())? >= 6;
        let sub = start.get(usize::try_from(block).ok()?..)?;
        let of = match has_64 {
            true => u64_at(sub, MAX_FRAME_64)?,
            false => number(MAX_FRAME)?,
        };
        let frames = if has_64 { FRAMES_64 } else { FRAMES };
        let frames = u64_at(sub, frames)?..u64_at(sub, frames + 8)?;
        let part = match u32_at(sub, SPLIT)? {
            0 => None,
            _ => Some(Part { dump: start.get(MACHINE)?.to_vec(), frames: frames.clone(), of }),
        };
        Some(Self {
            block,
            sub_blocks: number(SUB_BLOCKS)?,
            bitmap_blocks: number(BITMAP_BLOCKS)?,
            status: u32_at(start, STATUS)?,
            frames: if part.is_some() { frames } else { 0..of },
            part,
        })
    }

    /// Why the file isn't whole; `None`: it is, as far as can be seen from its end.
    pub(super) fn cut_off(&self, file: &impl FileExt, size: u64) -> Option<String> {
        if self.status & INCOMPLETE != 0 {
            return Some("it is incomplete, as makedumpfile has noted in it".into());
        }
        let cut = |end: u64| format!("it is cut off: {size} of at least {end} bytes are there");
        let bitmaps = (1 + self.sub_blocks).saturating_mul(self.block);
        let half = (self.bitmap_blocks / 2).saturating_mul(self.block);
        let pages = bitmaps.saturating_add(self.bitmap_blocks.saturating_mul(self.block));
        if pages > size {
            return Some(cut(pages));
        }
        let count = self.count(file, bitmaps + half, half)?;
        // No more than there are bits in the file.
        let data = pages + count * DESCRIPTOR;
        if data > size {
            return Some(cut(data));
        }
        let mut last = vec![0; (count.min(LAST) * DESCRIPTOR) as usize];
        let from = data - last.len() as u64;
        file.read_exact_at(&mut last, from).ok()?;
        let ends = last.chunks_exact(DESCRIPTOR as usize);
        let ends = ends.filter_map(|page| u64_at(page, 0)?.checked_add(u32_at(page, 8)?.into()));
        ends.max().filter(|end| *end > size).map(cut)
    }

    /// How many bits of a bitmap are set, of those that are about this part.
    fn count(&self, file: &impl FileExt, at: u64, len: u64) -> Option<u64> {
        let (mut count, mut piece) = (0, vec![0; PIECE]);
        for from in (0..len).step_by(PIECE) {
            let bytes = &mut piece[..(len - from).min(PIECE as u64) as usize];
            file.read_exact_at(bytes, at + from).ok()?;
            for (frame, byte) in (from * 8..).step_by(8).zip(bytes) {
                let all = frame >= self.frames.start && frame + 8 <= self.frames.end;
                count += match all {
                    true => u64::from(byte.count_ones()),
                    false => (0..8)
                        .filter(|bit| *byte >> bit & 1 != 0 && self.frames.contains(&(frame + bit)))
                        .count() as u64,
                };
            }
        }
        Some(count)
    }
}
