// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Last words: texts, and what lines of them say.

use blog_decode_core::words::Scan;
use blog_wire::words::{self, Head, Why, LINE_MAX, PACKED_MAX};

use crate::files;

/// A block of deflate that isn't packed has so many bytes more.
const BLOCK: usize = 5;

/// Any text; and lines that say these bytes, as nobody finds a checksum by chance.
pub fn console(bytes: &[u8]) {
    let mut text = bytes.to_vec();
    let parts: Vec<_> = bytes.chunks(PACKED_MAX - BLOCK).take(9).collect();
    for (number, part) in (1..).zip(&parts) {
        let head = Head { why: Why::Oops, number, count: parts.len() as u8, tag: 7 };
        let len = part.len() as u16;
        let (low, high) = (len.to_le_bytes(), (!len).to_le_bytes());
        let packed = [&[1][..], &low, &high, part].concat();
        let mut line = [0; LINE_MAX];
        let len = words::write(&mut line, &head, &packed, crc32fast::hash);
        text.push(b'\n');
        text.extend_from_slice(&line[..len]);
    }
    let mut scan = Scan::default();
    text.chunks(100).for_each(|part| scan.feed(part));
    scan.end();
    assert!(parts.is_empty() || scan.events.iter().any(|event| event.head.tag == 7));
    for event in &scan.events {
        files::snapshot(&event.stream());
    }
}
