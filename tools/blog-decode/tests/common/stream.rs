// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Captures of streams, made as `blog/read/` makes them: in passes, each with what rings have
//! got since the last one.

use super::snapshot::{Builder, Page, Ring, BOOT_ID};

pub const SECOND: u64 = 1_000_000_000;
/// Real time when the machine booted.
pub const BOOTED: u64 = 1_700_000_000 * SECOND;

/// Marks what was built as the capture of a stream.
pub fn as_stream(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[24..28].copy_from_slice(&1u32.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// A clock section: the instant 0 and `now`, in ns since boot.
pub fn clock(b: &mut Builder, now: u64) {
    b.clock(1, &[[0, 0, 0, BOOTED], [now, now, now, BOOTED + now]]);
}

/// A stream up to its first pass, of images with these build IDs and 4 sites each.
pub fn begin(build_ids: &[&[u8]], now: u64) -> Builder {
    let mut b = Builder::new();
    b.system(BOOT_ID);
    clock(&mut b, now);
    for (i, id) in (0u32..).zip(build_ids) {
        b.images(&[(1 + 4 * i, 4, id, "test_mod")]);
    }
    b.component(1, "disk");
    b
}

/// A piece of a page of `ring`, with one record "n bytes at clock" for each of `clocks`.
pub fn piece(ring: u32, seq: u64, first: u64, clocks: &[u64]) -> Page {
    let base = clocks.first().copied().unwrap_or(0);
    let mut page = Page::new(ring, seq, base, first);
    for (n, &clock) in (first..).zip(clocks) {
        page.record(clock, 1, (&(n as u32), &clock));
    }
    page
}

/// Rings of tasks, to which records are given now, and which are read later.
pub struct Rings {
    pub builder: Builder,
    rings: Vec<(Ring, u64, Vec<u64>)>,
}

impl Rings {
    pub fn new(builder: Builder, count: u32) -> Self {
        let ring = |i| (Ring::task(1, i, 100 + i as i32, "fio"), 0, Vec::new());
        Self { builder, rings: (0..count).map(ring).collect() }
    }

    /// Logs a record.
    pub fn log(&mut self, ring: usize, clock: u64) {
        self.rings[ring].2.push(clock);
    }

    /// One pass of a reader over one ring: what it has got, in one piece.
    pub fn read(&mut self, i: usize) {
        let (ring, first, clocks) = &mut self.rings[i];
        if clocks.is_empty() {
            return;
        }
        if *first == 0 {
            self.builder.ring(ring);
        }
        // Some 100 records have room in a page.
        for clocks in clocks.chunks(100) {
            let page = piece(ring.ring, 1 + *first / 100, *first, clocks);
            self.builder.page(ring, &page);
            *first += clocks.len() as u64;
        }
        clocks.clear();
    }

    pub fn len(&self) -> usize {
        self.rings.len()
    }
}
