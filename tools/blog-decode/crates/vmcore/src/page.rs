// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The intact part of a page of a dump.
//!
//! The kernel publishes records by one word with the end and the number of records. If the records
//! don't agree with it, the page is damaged, and is cut where they cease to make sense.

use crate::{
    blogfmt::bytes::u64_at,
    memory::Memory,
    problems::Problems,
    record::Version,
    rings::{FoundPage, FoundRing},
    table::at_addr,
    wire::{
        page::{PageInfo, PAGE_HEADER_SIZE, SEQ_MASK},
        record::{Header, HEADER_SIZE},
    },
};

/// Reads a page of a ring, up to the end of its last whole record; `None`: it can't be read.
pub(super) fn read(
    memory: &impl Memory,
    ring: &FoundRing,
    page: &FoundPage,
    version: Version,
    place: &str,
    problems: &mut Problems,
) -> Option<Vec<u8>> {
    let mut bytes = vec![0; page.info.size as usize];
    if let Err(e) = memory.read(page.addr, &mut bytes) {
        problems.grave(place, "a page can't be read", || at_addr(page.addr, &e));
        return None;
    }
    if finish(&mut bytes, &page.info, version) {
        problems.grave(place, "a page is damaged, and cut", || {
            format!("position {} of ring {}", page.seq, ring.ring.ring)
        });
    }
    Some(bytes)
}

/// Makes `page`, all bytes of a page with the header `info`, one for a snapshot: up to the end of its
/// last whole record, and with a header that says so. Returns whether something was cut.
fn finish(page: &mut Vec<u8>, info: &PageInfo, version: Version) -> bool {
    let published = info.end() as usize;
    let is_sound = (PAGE_HEADER_SIZE..=page.len()).contains(&published);
    let limit = if is_sound { published } else { page.len() };
    let (end, records) = intact_part(page, limit, info.records(), version);
    let commit = end as u64 | u64::from(records) << 32;
    page.truncate(end);
    let at_rest = PageInfo { seq: info.seq & SEQ_MASK, commit, ..*info };
    if let Some(to) = page.first_chunk_mut() {
        *to = at_rest.bytes();
    }
    commit != info.commit
}

/// End and number of the records before `limit` that make sense; at most `most` records.
fn intact_part(page: &[u8], limit: usize, most: u32, version: Version) -> (usize, u32) {
    let (mut at, mut records) = (PAGE_HEADER_SIZE, 0);
    while let Some(header) = u64_at(page, at).map(Header) {
        let (site, payload) = version.header(header);
        let (size, is_record) = (HEADER_SIZE + payload, site != 0);
        // A control record has a word at least.
        if limit - at < size || is_record && records == most || !is_record && payload < 4 {
            break;
        }
        records += u32::from(is_record);
        at += size;
        if at >= limit {
            break;
        }
    }
    (at, records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::page::PAGE_MAGIC;

    /// A page of 256 bytes with records of these sites and payloads.
    fn page(records: &[(u32, u32)]) -> (Vec<u8>, PageInfo) {
        let mut page = vec![0; PAGE_HEADER_SIZE];
        let mut count = 0;
        for &(site, payload) in records {
            page.extend(Header::new(1, site, payload).0.to_le_bytes());
            page.resize(page.len() + payload as usize, 7);
            count += u64::from(site != 0);
        }
        let info = PageInfo {
            magic: PAGE_MAGIC,
            size: 256,
            ring: 1,
            next: 2,
            seq: 5 << 48 | 3,
            base: 1,
            first: 0,
            commit: page.len() as u64 | count << 32,
        };
        page.resize(256, 0xa5);
        (page, info)
    }

    #[test]
    fn a_whole_page_is_kept() {
        let (mut bytes, info) = page(&[(3, 5), (0, 12), (4, 0), (0, 28)]);
        assert!(!finish(&mut bytes, &info, Version::Two));
        assert_eq!(bytes.len(), info.end() as usize);
        // The life of the page in memory is of no interest.
        assert_eq!(u64_at(&bytes, 16), Some(3));
        assert_eq!(u64_at(&bytes, 40), Some(info.commit));
    }

    #[test]
    fn an_empty_page_is_whole() {
        let (mut bytes, info) = page(&[]);
        assert!(!finish(&mut bytes, &info, Version::Two));
        assert_eq!(bytes.len(), PAGE_HEADER_SIZE);
    }

    #[test]
    fn an_end_that_is_wrong_is_found_by_the_count() {
        let (whole, info) = page(&[(3, 5), (4, 10), (5, 0)]);
        for end in [0, 47, 52, 60, 250, 256, 300, u32::MAX] {
            let mut bytes = whole.clone();
            let bad = PageInfo { commit: (info.commit >> 32 << 32) | u64::from(end), ..info };
            assert!(finish(&mut bytes, &bad, Version::Two), "{end}");
            assert!(bytes.len() <= info.end() as usize, "{end}");
            let at_most = if (48..87).contains(&end) { end } else { 87 };
            assert!(bytes.len() <= at_most as usize);
            if !(48..87).contains(&end) {
                assert_eq!(bytes.len(), 87, "{end}");
            }
        }
    }

    #[test]
    fn records_behind_a_damaged_one_are_cut() {
        let (mut bytes, info) = page(&[(3, 5), (4, 10), (5, 0)]);
        // The second record's length.
        bytes[61] = 200;
        assert!(finish(&mut bytes, &info, Version::Two));
        assert_eq!(bytes.len(), 61);
        assert_eq!(u64_at(&bytes, 40), Some(61 | 1 << 32));
    }
}
