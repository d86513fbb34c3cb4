// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Memory that has survived a reboot.

use blog_vmcore as vmcore;
use blog_wire::{
    file::{ENDIAN, VERSION as SNAPSHOT_VERSION},
    page::{PageInfo, PAGE_MAGIC},
    persist::{Facts, Region, MAGIC, VERSION},
    record::{Header, WIRE_VERSION},
};

use crate::common::snapshot::{Builder, BOOT_ID};

fn word(bytes: &[u8], at: usize) -> usize {
    bytes[at..at + 4].iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte))
}

/// Makes right what no input would have by chance: magic, versions, and the checksums.
fn seal(bytes: &mut [u8]) {
    let Some(head) = bytes.get_mut(..Region::SIZE) else {
        return;
    };
    head[..8].copy_from_slice(&MAGIC);
    for (n, word) in [VERSION, ENDIAN, WIRE_VERSION].into_iter().enumerate() {
        head[8 + 4 * n..12 + 4 * n].copy_from_slice(&word.to_le_bytes());
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

const PAGE: usize = 1024;
const CHUNK: usize = 256;
const RING: u32 = 192;
const RINGS: u32 = 5;
/// One of page of rings, a whole page, one of chunks.
const FRAMES: usize = 3;

/// Rings with a page and chunks, in pages that are smaller than a kernel's.
pub fn seed() -> Vec<u8> {
    // Offsets of a ring's fields, the first of which is its size.
    let ring = [RING, 0, 0, 0, 0, 0, 64, 128, 4, 8, 12, 13, 16, 20, 24, 28, 44, 52, 56, 0];
    let page = PAGE as u32;
    let head = [
        VERSION,
        ENDIAN,
        WIRE_VERSION,
        SNAPSHOT_VERSION,
        page,
        CHUNK as u32,
        RINGS,
        FRAMES as u32,
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
    for _ in 0..FRAMES {
        bytes.extend((1u64 | 1 << 32).to_le_bytes());
    }
    bytes.resize(4 * PAGE, 0);
    for id in 0..RINGS {
        let mut ring = [0; RING as usize];
        ring[4] = id as u8;
        // Live, live, retired, free, damaged
        ring[12] = [1, 1, 2, 0, 9][id as usize];
        ring[20] = 40 + id as u8;
        ring[52] = 1;
        ring[64] = id as u8;
        bytes.extend(ring);
    }
    bytes.resize(5 * PAGE, 0);
    let mut page = |size: usize, ring: u32, seq: u64, records: u32| {
        let at = bytes.len();
        let info = PageInfo {
            magic: PAGE_MAGIC,
            size: size as u32,
            ring,
            next: u32::MAX,
            seq,
            base: 1000,
            first: 0,
            commit: u64::from(records) << 32 | u64::from(48 + 12 * records),
        };
        bytes.extend(info.bytes());
        for n in 0..records {
            bytes.extend(Header::new(1000 + u64::from(n), 1, 4).0.to_le_bytes());
            bytes.extend(n.to_le_bytes());
        }
        bytes.resize(at + size, 0);
    };
    page(PAGE, 1, 2, 20);
    page(CHUNK, 1, 1, 5);
    page(CHUNK, 2, 7, 6);
    page(CHUNK, 3, 1, 2);
    page(CHUNK, 0, 0, 0);
    seal(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_has_pages_of_two_rings() {
        let mut file = Vec::new();
        vmcore::kept(&seed(), &mut file).unwrap();
        let pages = file.windows(4).filter(|w| *w == b"BLPG").count();
        assert_eq!(pages, 3);
    }
}
