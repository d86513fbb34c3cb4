// SPDX-License-Identifier: GPL-2.0

//! What of a copied page a reader gets: all of it, or the part behind a position.
//!
//! `clear` hides what lies before a position from snapshots; a stream has been read up to one. The
//! part behind it becomes a page of its own: with its own time, number of its first record, and
//! counts, so that it can be decoded alone, as any page.

use kernel::blog::record::{
    Control,
    Header,
    Lost,
    CONTROL_SIZE,
    PAGE_HEADER_SIZE,
    TASK_SIZE,
    TS_MASK, //
};

/// A position in a ring, and what to say to who reads on from there.
pub(crate) struct From {
    /// Position of the page; what is in pages before that is left out.
    pub(crate) seq: u64,
    /// Of that page, what lies before this end is left out.
    pub(crate) end: u32,
    /// Records that were hidden for good: they are not counted.
    pub(crate) hidden: u64,
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
    /// Number of its first record in the ring, hidden ones counted.
    pub(crate) first: u64,
    /// Its records.
    pub(crate) records: u64,
    /// Records that are missing before it.
    pub(crate) lag: u64,
}

fn get_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn get(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

fn put(bytes: &mut [u8], at: usize, n: u64) {
    if let Some(to) = bytes.get_mut(at..at + 8) {
        to.copy_from_slice(&n.to_ne_bytes());
    }
}

/// Offsets in `PageInfo`.
const RING: usize = 8;
const NEXT: usize = 12;
const SEQ: usize = 16;
const BASE: usize = 24;
const FIRST: usize = 32;
const COMMIT: usize = 40;

/// Id of the ring that a copied page belongs to.
pub(crate) fn ring_of(page: &[u8]) -> Option<u32> {
    get_u32(page, RING)
}

/// Pool index of the page behind a copied one.
pub(crate) fn next_of(page: &[u8]) -> Option<u32> {
    get_u32(page, NEXT)
}

/// Published end of a copied page.
pub(crate) fn end_of(page: &[u8]) -> Option<u32> {
    get_u32(page, COMMIT)
}

/// Time of the last record of a copied page that isn't a control record; `None`: it has none.
pub(crate) fn last_time(page: &[u8]) -> Option<u64> {
    let (mut at, end) = (PAGE_HEADER_SIZE, end_of(page)? as usize);
    let (mut now, mut last) = (get(page, BASE)?, None);
    while at < end {
        let header = Header(get(page, at)?);
        let extend = header.site() == 0
            && Control::from_word(get_u32(page, at + 8)?) == Some(Control::TimeExtend);
        now = match extend {
            true => get(page, at + 12)?,
            // There is less than a turn of the low bits between two of them.
            false => now.wrapping_add(header.ts().wrapping_sub(now) & TS_MASK),
        };
        if header.site() != 0 {
            last = Some(now);
        }
        at = at.checked_add(header.size())?;
    }
    last
}

/// Room for a lost and a task record.
const FRONT: usize = (CONTROL_SIZE + TASK_SIZE) as usize;

/// Records that stand before the rest of a piece.
struct Front {
    bytes: [u8; FRONT],
    len: usize,
}

impl Front {
    fn push(&mut self, record: &[u8]) {
        if let Some(to) = self.bytes.get_mut(self.len..self.len + record.len()) {
            to.copy_from_slice(record);
            self.len += record.len();
        }
    }

    fn lost(&mut self, clock: u64, count: u64) {
        let word = Control::Lost as u32 | (Lost::ReaderLag as u32) << 8;
        self.push(&Header::from_parts(clock, 0, CONTROL_SIZE).0.to_ne_bytes());
        self.push(&word.to_ne_bytes());
        self.push(&count.to_ne_bytes());
    }
}

/// Leaves of a copied page what lies behind a position; `None`: nothing does.
///
/// `page` starts with a copy that `PageHeader::copy` has made, and so a well-formed one (where it
/// isn't, nothing is left), and has room for a lost and a task record more.
pub(crate) fn cut(page: &mut [u8], from: &From) -> Option<Piece> {
    let (seq, mut base) = (get(page, SEQ)?, get(page, BASE)?);
    let (first, commit) = (get(page, FIRST)?, get(page, COMMIT)?);
    let end = commit as u32 as usize;
    let read = if seq > from.seq {
        PAGE_HEADER_SIZE
    } else {
        from.end as usize
    };
    if seq < from.seq || end < read || end > page.len() {
        return None;
    }
    if seq == from.seq && end == read {
        return None;
    }
    let mut at = PAGE_HEADER_SIZE;
    let mut before = 0;
    let mut task = [0; TASK_SIZE as usize];
    while at < read {
        let header = Header(get(page, at)?);
        if header.site() != 0 {
            before += 1;
        } else {
            match Control::from_word(get_u32(page, at + 8)?) {
                // The time from which what follows counts.
                Some(Control::TimeExtend) => base = get(page, at + 12)?,
                // Who has written what follows.
                Some(Control::Task) => {
                    task.copy_from_slice(page.get(at..at + TASK_SIZE as usize)?);
                }
                _ => (),
            }
        }
        at = at.checked_add(header.size())?;
    }
    if at != read {
        return None;
    }

    let first = first.wrapping_add(before);
    let lag = from.next.map_or(0, |next| first.saturating_sub(next));
    let mut front = Front {
        bytes: [0; FRONT],
        len: 0,
    };
    if lag != 0 {
        front.lost(base, lag);
    }
    if task.iter().any(|b| *b != 0) {
        // Its own time may be long ago.
        put(&mut task, 0, Header::from_parts(base, 0, TASK_SIZE).0);
        front.push(&task);
    }
    let start = PAGE_HEADER_SIZE + front.len;
    let len = start + (end - read);
    if len > page.len() {
        return None;
    }
    page.copy_within(read..end, start);
    page.get_mut(PAGE_HEADER_SIZE..start)?
        .copy_from_slice(front.bytes.get(..front.len)?);
    let records = (commit >> 32).saturating_sub(before);
    put(page, BASE, base);
    put(page, FIRST, first.saturating_sub(from.hidden));
    put(page, COMMIT, records << 32 | len as u64);
    Some(Piece {
        len,
        end: end as u32,
        first,
        records,
        lag,
    })
}
