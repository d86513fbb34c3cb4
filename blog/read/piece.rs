// SPDX-License-Identifier: GPL-2.0

//! What of a copied page a reader gets: all of it, or the part behind a position.
//!
//! A stream has been read up to a position. The part behind it becomes a page of its own: with its
//! own time, number of its first record, and counts, so that it can be decoded alone, as any page.

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

/// A position in a ring, and what to say to who reads on from there.
pub(crate) struct From {
    /// Position of the page; what is in pages before that is left out.
    pub(crate) seq: u64,
    /// Of that page, what lies before this end is left out.
    pub(crate) end: u32,
    /// The record that should come first. Where another one does, a lost record tells how many are
    /// missing. `None`: that is not known.
    pub(crate) next: Option<u64>,
}

/// What came out.
pub(crate) struct Piece {
    /// Its length in bytes.
    pub(crate) len: usize,
    /// Published end of the page that it is from.
    pub(crate) end: u32,
    /// Number of its first record in the ring.
    pub(crate) first: u64,
    /// Its records.
    pub(crate) records: u64,
    /// Records that are missing before it.
    pub(crate) lag: u64,
}

/// The records of a copied page, control records too: where each is, its header, and its payload.
/// `None` for one that isn't whole; nothing follows it.
struct Records<'a> {
    page: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = Option<(usize, Header, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.page.get(self.at..).filter(|rest| !rest.is_empty())?;
        let whole = || {
            let header = Header(u64::from_le_bytes(*rest.first_chunk()?));
            Some((header, rest.get(HEADER_SIZE..header.size())?))
        };
        let Some((header, payload)) = whole() else {
            self.page = &[];
            return Some(None);
        };
        let at = self.at;
        self.at += header.size();
        Some(Some((at, header, payload)))
    }
}

/// Goes through a copied page, up to `end`.
fn records(page: &[u8], end: usize) -> Records<'_> {
    Records {
        page: page.get(..end).unwrap_or_default(),
        at: PAGE_HEADER_SIZE,
    }
}

/// Room for a lost and a task record.
const FRONT: usize = (CONTROL_SIZE + TASK_SIZE) as usize;

/// Records that stand before the rest of a piece.
struct Front {
    bytes: [u8; FRONT],
    len: usize,
}

impl Front {
    fn push(&mut self, clock: u64, record: ControlRecord) {
        let (bytes, size) = (record.bytes(clock), record.size());
        let to = self.bytes.get_mut(self.len..self.len + size);
        if let (Some(to), Some(from)) = (to, bytes.get(..size)) {
            to.copy_from_slice(from);
            self.len += size;
        }
    }
}

/// Leaves of a copied page what lies behind a position; `None`: nothing does.
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
    let (mut at, mut before, mut task) = (PAGE_HEADER_SIZE, 0, None);
    for record in records(page, read) {
        let (start, header, payload) = record?;
        at = start + header.size();
        if header.site() != 0 {
            before += 1;
            continue;
        }
        match ControlRecord::from_payload(payload) {
            // The time from which what follows counts.
            Some(ControlRecord::TimeExtend(clock)) => info.base = clock,
            // Who has written what follows.
            Some(said @ ControlRecord::Task { .. }) => task = Some(said),
            _ => (),
        }
    }
    if at != read {
        return None;
    }

    let first = info.first.wrapping_add(before);
    let lag = from.next.map_or(0, |next| first.saturating_sub(next));
    let mut front = Front {
        bytes: [0; FRONT],
        len: 0,
    };
    if lag != 0 {
        let cause = Lost::ReaderLag as u8;
        front.push(info.base, ControlRecord::Lost { cause, count: lag });
    }
    if let Some(task) = task {
        // Its own time may be long ago.
        front.push(info.base, task);
    }
    let start = PAGE_HEADER_SIZE + front.len;
    let len = start + (end - read);
    if len > page.len() {
        return None;
    }
    page.copy_within(read..end, start);
    page.get_mut(PAGE_HEADER_SIZE..start)?
        .copy_from_slice(front.bytes.get(..front.len)?);
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
