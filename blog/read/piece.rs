// SPDX-License-Identifier: GPL-2.0

//! The part of a copied page that a reader gets: all of it, or the part after a position.
//!
//! A stream has been read up to a position. The part after it becomes a page of its own, with its
//! own time, number of its first record, and counts, so that it can be decoded alone, like any
//! page.

use kernel::blog::wire::{
    page::{
        PageInfo,
        PAGE_HEADER_SIZE, //
    },
    record::{
        ControlRecord,
        Header,
        HEADER_SIZE, //
    }, //
};

pub(crate) struct Piece {
    pub(crate) len: usize,
    /// Published end of the page that it is from.
    pub(crate) end: u32,
    /// Number of its first record in the ring.
    pub(crate) first: u64,
    pub(crate) records: u64,
}

/// The records of a copied page, control records too.
pub(crate) struct Records {
    at: usize,
    end: usize,
}

impl Records {
    /// From the one at `at` up to `end`.
    pub(crate) fn new(page: &[u8], at: usize, end: usize) -> Self {
        Self {
            at,
            end: end.min(page.len()),
        }
    }

    /// The next one of `page`: where it is, and its header. `None`: there is none that is whole.
    pub(crate) fn next(&mut self, page: &[u8]) -> Option<(usize, Header)> {
        let rest = page.get(self.at..self.end)?;
        let header = Header(u64::from_le_bytes(*rest.first_chunk()?));
        let at = self.at;
        self.at += Some(header.size()).filter(|size| *size <= rest.len())?;
        Some((at, header))
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }
}

/// Cuts a copied page down to the part after what was read; `None` if that is empty. What was read
/// is all before the page at the position `seq`, and of that page, all before `end`.
///
/// `page` starts with a copy that `PageHeader::copy` has made, and so a well-formed one (where it
/// isn't, nothing is left), and has room for a task record more.
pub(crate) fn rest_after(page: &mut [u8], (seq, read_end): (u64, u32)) -> Option<Piece> {
    let mut info = PageInfo::read(page)?;
    let end = info.end() as usize;
    let read = match info.seq > seq {
        true => PAGE_HEADER_SIZE,
        false => read_end as usize,
    };
    if info.seq < seq || end < read || end > page.len() || (info.seq, end) == (seq, read) {
        return None;
    }
    let (mut before, mut task) = (0, None);
    let mut records = Records::new(page, PAGE_HEADER_SIZE, read);
    while let Some((at, header)) = records.next(page) {
        if header.site() != 0 {
            before += 1;
            continue;
        }
        let payload = page.get(at + HEADER_SIZE..records.at())?;
        match ControlRecord::from_payload(payload) {
            // The time from which what follows counts.
            Some(ControlRecord::TimeExtend(clock)) => info.base = clock,
            // The writer of the following records.
            Some(said @ ControlRecord::Task { .. }) => task = Some(said),
            _ => (),
        }
    }
    if records.at() != read {
        return None;
    }

    let first = info.first.wrapping_add(before);
    let start = PAGE_HEADER_SIZE + task.map_or(0, |task| task.size());
    let len = start + (end - read);
    if len > page.len() {
        return None;
    }
    if start != read {
        page.copy_within(read..end, start);
    }
    if let Some(task) = task {
        // The task's own time may be long ago.
        let front = page.get_mut(PAGE_HEADER_SIZE..start)?;
        front.copy_from_slice(task.bytes(info.base).get(..task.size())?);
    }
    let records = u64::from(info.records()).saturating_sub(before);
    info.first = first;
    info.commit = records << 32 | len as u64;
    *page.first_chunk_mut()? = info.bytes();
    Some(Piece {
        len,
        end: end as u32,
        first,
        records,
    })
}
