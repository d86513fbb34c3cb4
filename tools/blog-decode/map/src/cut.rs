// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The part of a page that has not been read yet, as a page that can be decoded alone: what the
//! kernel writes to a stream file.

use crate::wire::{
    page::{PageInfo, PAGE_HEADER_SIZE},
    record::{ControlRecord, Header, Lost, HEADER_SIZE},
};

/// What [`trim_read`] has made.
pub(crate) struct Cut {
    /// Number of its first record in the ring.
    pub(crate) first: u64,
    pub(crate) records: u64,
    /// Records that are missing before it.
    pub(crate) missed: u64,
}

/// Leaves of a page what comes after `read` bytes. `next` is the record that should come first, if
/// that is known. `None`: it is damaged, or nothing is left.
pub(crate) fn trim_read(
    page: &mut Vec<u8>,
    info: PageInfo,
    read: usize,
    next: Option<u64>,
) -> Option<Cut> {
    let read = read.max(PAGE_HEADER_SIZE);
    if read >= page.len() {
        return None;
    }
    let (mut at, mut before, mut base, mut task) = (PAGE_HEADER_SIZE, 0, info.base, None);
    while at < read {
        let header = Header(u64::from_le_bytes(*page.get(at..)?.first_chunk()?));
        let end = at + header.size();
        if header.site() != 0 {
            before += 1;
        } else {
            match ControlRecord::from_payload(page.get(at + HEADER_SIZE..end)?) {
                Some(ControlRecord::TimeExtend(clock)) => base = clock,
                Some(record @ ControlRecord::Task { .. }) => task = Some(record),
                _ => {}
            }
        }
        at = end;
    }
    if at != read {
        return None;
    }
    let first = info.first.wrapping_add(before);
    let records = u64::from(info.records()).saturating_sub(before);
    let missed = next.map_or(0, |next| first.saturating_sub(next));
    let lost = (missed != 0)
        .then_some(ControlRecord::Lost { cause: Lost::ReaderLag as u8, count: missed });
    let mut front = vec![0; PAGE_HEADER_SIZE];
    for record in lost.into_iter().chain(task) {
        front.extend_from_slice(&record.bytes(base)[..record.size()]);
    }
    page.splice(..read, front);
    let info = PageInfo { base, first, commit: records << 32 | page.len() as u64, ..info };
    *page.first_chunk_mut()? = info.bytes();
    Some(Cut { first, records, missed })
}
