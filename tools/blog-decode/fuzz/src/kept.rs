// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Memory that has survived a reboot.

use blog_vmcore as vmcore;
use blog_wire::{
    file::{ENDIAN, VERSION as SNAPSHOT_VERSION},
    page::RINGS_MAGIC,
    persist::{Facts, Region, MAGIC, READS, VERSION},
    record::WIRE_VERSION,
    ring::{RingHead, RING_SIZE},
};

use crate::common::snapshot::{Builder, Page, BOOT_ID};

fn word(bytes: &[u8], at: usize) -> usize {
    bytes[at..at + 4].iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte))
}

/// Makes right what no input would have by chance: magic, versions, and the checksums.
fn seal(bytes: &mut [u8]) {
    let Some(head) = bytes.get_mut(..Region::SIZE) else {
        return;
    };
    head[..8].copy_from_slice(&MAGIC);
    if !READS.contains(&(word(head, 8) as u32)) {
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    }
    for (n, word) in [ENDIAN, WIRE_VERSION].into_iter().enumerate() {
        head[12 + 4 * n..16 + 4 * n].copy_from_slice(&word.to_le_bytes());
    }
    let crc = crc32fast::hash(&head[..Region::SUMMED]);
    head[Region::SUMMED..].copy_from_slice(&crc.to_le_bytes());
    let at = word(head, 24);
    let Some(copy) = bytes.get_mut(at..) else {
        return;
    };
    let Some((head, sections)) = copy.split_at_mut_checked(Facts::SIZE) else {
        return;
    };
    if let Some(sections) = sections.get(..word(head, 8)) {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head[..Facts::SUMMED]);
        crc.update(sections);
        head[Facts::SUMMED..].copy_from_slice(&crc.finalize().to_le_bytes());
    }
}

/// The file `previous/snapshot`.
pub fn kept(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    seal(&mut bytes);
    let mut file = Vec::new();
    if vmcore::kept(&bytes, &mut file).is_ok() {
        // Of a few bytes come no more than a few headers for each.
        assert!(file.len() <= 64 * bytes.len().max(1024), "{}", file.len());
        crate::files::snapshot(&file);
    }
}

const PAGE: usize = 4096;
/// Where rings are, and how large their own pages.
const RINGS_AT: usize = 64;
const ROOM: usize = 256;
/// Of version 1: the same as a chunk of a page.
const CHUNK: usize = ROOM;
const RINGS: u32 = 5;

/// Rings with a page each has of its own, or in version 1 chunks, and another one.
pub fn seed(version: u32) -> Vec<u8> {
    let (rings_at, ring_size, room) = match version {
        1 => (0, 192, 0),
        2 => (RINGS_AT, 192 + ROOM as u32, 192),
        _ => (RINGS_AT, RING_SIZE as u32, RingHead::SIZE as u32),
    };
    // One page of rings, a whole page, and one of chunks.
    let frames = if version == 1 { 3 } else { 2 };
    // Offsets of a ring's fields, the first of which is its size.
    let ring = match version {
        1 | 2 => {
            [ring_size, 0, 0, 0, 0, room, 64, 128, 4, 8, 12, 13, 16, 20, 24, 28, 44, 52, 56, 0]
        }
        _ => [0; 20],
    };
    let page = PAGE as u32;
    let part = if version == 1 { CHUNK } else { RINGS_AT };
    let head = [
        version,
        ENDIAN,
        WIRE_VERSION,
        SNAPSHOT_VERSION,
        page,
        part as u32,
        RINGS,
        frames as u32,
        page,
    ];
    let mut bytes = MAGIC.to_vec();
    let words = head.iter().chain(&ring);
    words.for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes.resize(PAGE, 0);
    let mut b = Builder::new();
    let head = b.bytes.len();
    b.system(BOOT_ID)
        .clock(2, &[[0; 4], [3 << 30, 1 << 30, 1 << 30, 1 << 50]])
        .component(1, "disk")
        .images(&[(1, 5, b"id", "test")]);
    bytes.extend(1u64.to_le_bytes());
    bytes.extend((b.bytes.len() as u64 - head as u64).to_le_bytes());
    bytes.extend(&b.bytes[head..]);
    bytes.resize(3 * PAGE, 0);
    for _ in 0..frames {
        bytes.extend((1u64 | 1 << 32).to_le_bytes());
    }
    bytes.resize(4 * PAGE, 0);
    if version != 1 {
        bytes.extend(RINGS_MAGIC.to_le_bytes());
        bytes.resize(4 * PAGE + rings_at, 0);
    }
    let page = |bytes: &mut Vec<u8>, size: usize, ring: u32, seq: u64, records: u32| {
        let at = bytes.len();
        let mut page = Page::of_size(size, ring, seq, 1000, 0);
        for n in 0..records {
            page.raw_record(1000 + u64::from(n), 1, &n.to_le_bytes());
        }
        bytes.extend(page.bytes);
        bytes.resize(at + size, 0);
    };
    // Of each ring: position, and number of records.
    let small = [(0, 0), (1, 5), (7, 6), (1, 2), (0, 0)];
    for id in 0..RINGS {
        // Live, live, retired, free, damaged
        let state = [1, 1, 2, 0, 9][id as usize];
        let (n, own) = (id as u8, ring_size as usize - if room == 0 { 192 } else { room as usize });
        if version < 3 {
            let mut ring = [0; 192];
            (ring[4], ring[12], ring[20], ring[52], ring[64]) = (n, state, 40 + n, 1, n);
            bytes.extend(ring);
        } else {
            let head = RingHead::read(&[0; RingHead::SIZE]).unwrap();
            let (pid, lost) = (40 + i32::from(n), [id.into(), 0, 0, 0, 0, 0, 0, 0]);
            bytes.extend(RingHead { id, state, pid, first_seq: 1, lost, ..head }.bytes());
        }
        if version != 1 {
            let (seq, records) = small[id as usize];
            page(&mut bytes, own, id, seq, records);
        }
    }
    bytes.resize(5 * PAGE, 0);
    page(&mut bytes, PAGE, 1, 2, 20);
    if version == 1 {
        for (id, (seq, records)) in [1, 2, 3, 0].map(|id| (id, small[id as usize])) {
            page(&mut bytes, CHUNK, id, seq, records);
        }
        for _ in 4..PAGE / CHUNK {
            page(&mut bytes, CHUNK, 0, 0, 0);
        }
    }
    seal(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_has_pages_of_two_rings() {
        for version in READS {
            let mut file = Vec::new();
            let problems = vmcore::kept(&seed(version), &mut file).unwrap();
            let pages = file.windows(4).filter(|w| *w == b"BLPG").count();
            assert_eq!(pages, 3, "version {version}: {problems:?}");
        }
    }
}
