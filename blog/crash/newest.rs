// SPDX-License-Identifier: GPL-2.0

//! The newest records of a ring, in pieces from its end on.
//!
//! Any context, under RCU's lock. Takes no other lock, and trusts nothing: all is read by functions
//! that readers use, which check indices, copy a page, and compare who it was of afterwards.

use kernel::blog::{
    ring::NO_PAGE,
    wire::page::{
        PageInfo,
        PAGE_HEADER_SIZE, //
    }, //
};

use crate::{
    memory::Memory,
    read::{
        piece::{
            self,
            Records, //
        },
        sections::PAGE_ROOM, //
    },
    write::tables, //
};

/// Newest pages of a ring that may give pieces.
pub(crate) const PAGES: usize = 16;
/// A ring, and how far it was read.
pub(crate) struct Newest {
    pub(crate) slot: u32,
    pub(crate) ring: u32,
    /// Whose it is: see `RingWalk`.
    pub(crate) owner: (u64, i32),
    /// Position of the page that gives the next piece, and how many are known from there back.
    seq: u64,
    pub(crate) known: usize,
    /// Where in that page the piece ends; 0: where the page does.
    end: usize,
    /// Indices of pages, by their positions.
    pages: [u32; PAGES],
}

/// The memory of the component in a slot.
///
/// # Safety
///
/// RCU's lock is held as long as it is used.
pub(crate) unsafe fn memory_of<'a>(slot: u32) -> Option<&'a Memory> {
    // SAFETY: By this function's requirement: `quiesce` waits for that before they go.
    unsafe { tables::state_in(slot)?.live_memory() }
}

impl Newest {
    /// Goes to the newest page of a ring, by `steps` pages at most, from which those are taken that
    /// it took; `page` is room for one. `None`: there are no records, or too many pages, or the
    /// writer has closed the way.
    pub(crate) fn new(slot: u32, ring: u32, page: &mut [u8], steps: &mut u32) -> Option<Self> {
        // SAFETY: RCU's lock is held.
        let memory = unsafe { memory_of(slot) }?;
        let info = memory.info(ring).filter(|info| info.records != 0)?;
        let mut new = Self {
            slot,
            ring,
            owner: (info.first_seq, info.owner.pid),
            seq: 0,
            known: 0,
            end: 0,
            pages: [0; PAGES],
        };
        let mut at = memory.oldest_page(ring);
        while let Some((index, seq)) = at {
            *steps = steps.checked_sub(1)?;
            memory.copy(index, seq, page)?;
            let copy = PageInfo::read(page).filter(|copy| copy.ring == ring)?;
            (new.seq, new.known) = (seq, PAGES.min(new.known + 1));
            *new.pages.get_mut(seq as usize % PAGES)? = index;
            at = (copy.next != NO_PAGE).then_some((copy.next, seq + 1));
        }
        Some(new)
    }

    /// Goes on before a piece that began there.
    pub(crate) fn took(&mut self, start: usize) {
        self.end = start;
        if start <= PAGE_HEADER_SIZE {
            self.back();
        }
    }

    /// Goes to the page before.
    pub(crate) fn back(&mut self) {
        self.end = 0;
        self.known = self.known.saturating_sub(1);
        self.seq = self.seq.saturating_sub(1);
    }

    /// Copies the records before the last piece to `page`, at most `want` bytes of them but one
    /// record at least, as a page of their own. Returns its length, and where it began. `None`:
    /// this page has none, or is gone.
    pub(crate) fn cut(&self, page: &mut [u8], want: usize) -> Option<(usize, usize)> {
        // SAFETY: RCU's lock is held.
        let memory = unsafe { memory_of(self.slot) }?;
        let index = *self.pages.get(self.seq as usize % PAGES)?;
        memory.copy(index, self.seq, page.get_mut(..PAGE_ROOM)?)?;
        let info = memory.info(self.ring)?;
        let mut copy = PageInfo::read(page).filter(|copy| copy.ring == self.ring)?;
        if (info.first_seq, info.owner.pid) != self.owner {
            return None;
        }
        let end = match self.end {
            0 => copy.end() as usize,
            end => end,
        };
        let (mut records, mut count) = (Records::new(page, PAGE_HEADER_SIZE, end), 0);
        let mut start = None;
        while let Some((at, header)) = records.next(page) {
            count += u64::from(header.site() != 0);
            // The first one that is near enough, or the last one.
            if start.is_none_or(|start| end - start > want) {
                start = Some(at);
            }
        }
        let start = start.filter(|_| records.at() == end)?;
        copy.commit = count << 32 | end as u64;
        *page.first_chunk_mut()? = copy.bytes();
        let from = piece::From {
            seq: self.seq,
            end: start as u32,
            next: None,
        };
        let piece = piece::cut(page.get_mut(..PAGE_ROOM)?, &from)?;
        Some((piece.len, start))
    }
}
