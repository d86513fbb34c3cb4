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
        Lost,
        CONTROL_SIZE,
        HEADER_SIZE,
        TASK_SIZE, //
    }, //
};

/// A position in a ring, and the state for reading on from there.
pub(crate) struct From {
    /// Position of the page; what is in pages before that is left out.
    pub(crate) seq: u64,
    /// Of that page, what lies before this end is left out.
    pub(crate) end: u32,
    /// The record that should come first. If another one does, a lost record has how many are
    /// missing. `None`: that is not known.
    pub(crate) next: Option<u64>,
}

pub(crate) struct Piece {
    pub(crate) len: usize,
    /// Published end of the page that it is from.
    pub(crate) end: u32,
    /// Number of its first record in the ring.
    pub(crate) first: u64,
    pub(crate) records: u64,
    /// Records that are missing before it.
    pub(crate) lag: u64,
}

/// The records of a copied page, control records too.
pub(crate) struct Records {
    at: usize,
    end: usize,
}

impl Records {
    /// From one at `at` up to `end`.
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

/// Room for a lost and a task record.
const FRONT: usize = (CONTROL_SIZE + TASK_SIZE) as usize;

/// Cuts a copied page down to the part after a position; `None` if that is empty.
///
/// `page` starts with a copy that `PageHeader::copy` has made, and so a well-formed one (where it
/// isn't, nothing is left), and has room for a lost and a task record more.
pub(crate) fn cut(page: &mut [u8], from: &From) -> Option<Piece> {
    let mut info = PageInfo::read(page)?;
    let end = info.end() as usize;
    let read = if info.seq > from.seq {
        PAGE_HEADER_SIZE
    } else {
        from.end as usize
    };
    if info.seq < from.seq || end < read || end > page.len() {
        return None;
    }
    if info.seq == from.seq && end == read {
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
    let lag = from.next.map_or(0, |next| first.saturating_sub(next));
    let cause = Lost::ReaderLag as u8;
    let lost = (lag != 0).then_some(ControlRecord::Lost { cause, count: lag });
    let (mut front, mut start) = ([0; FRONT], 0);
    // The task's own time may be long ago.
    for record in lost.into_iter().chain(task) {
        let size = record.size();
        let to = front.get_mut(start..start + size)?;
        to.copy_from_slice(record.bytes(info.base).get(..size)?);
        start += size;
    }
    let front = front.get(..start)?;
    let start = PAGE_HEADER_SIZE + start;
    let len = start + (end - read);
    if len > page.len() {
        return None;
    }
    if start != read {
        page.copy_within(read..end, start);
    }
    page.get_mut(PAGE_HEADER_SIZE..start)?
        .copy_from_slice(front);
    let records = u64::from(info.records()).saturating_sub(before);
    info.first = first;
    info.commit = records << 32 | len as u64;
    *page.first_chunk_mut()? = info.bytes();
    Some(Piece {
        len,
        end: end as u32,
        first,
        records,
        lag,
    })
}
