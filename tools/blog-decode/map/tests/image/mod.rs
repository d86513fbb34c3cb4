// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Memory as the kernel would have it, by the numbers of Documentation/blog/formats.rst: a meta page,
//! a page of rings, and pages. Here everything is stored as the kernel stores it.

use std::sync::atomic::{
    fence, AtomicU64,
    Ordering::{Relaxed, Release},
};

pub const PAGE: usize = 4096;
pub const HEADER: usize = 48;
/// Of a page of rings: where they are, and how many.
const RINGS_AT: usize = 64;
const RINGS: u32 = 7;
/// Size of a ring, and of its own page, at its end.
const RING: usize = 576;
pub const ROOM: usize = 320;

/// Bits of a position that count lives.
const LIFE: u64 = 1 << 48;

pub struct Image(pub Vec<AtomicU64>);

impl Image {
    /// With so many pages, none of which is in a ring.
    pub fn new(pages: usize) -> Self {
        let this = Self((0..(2 + pages) * PAGE / 8).map(|_| AtomicU64::new(0)).collect());
        this.set(0, u64::from_le_bytes(*b"BLOG_MAP"));
        let places = 1 + pages as u32;
        let meta = [3, 40, 2, 4096, RINGS_AT as u32, RINGS, places, 7];
        for (n, value) in meta.into_iter().enumerate() {
            this.set_u32(8 + n * 4, value);
        }
        this.set_u32(PAGE, u32::from_le_bytes(*b"BLRG"));
        for id in 0..RINGS {
            this.set_u32(Self::ring(id) + 200, id);
            this.format(Self::room(id), ROOM);
        }
        for page in 0..pages {
            this.format(Self::at(page), PAGE);
        }
        this
    }

    fn ring(id: u32) -> usize {
        PAGE + RINGS_AT + id as usize * RING
    }

    /// A ring's own page.
    pub fn room(id: u32) -> usize {
        Self::ring(id) + RING - ROOM
    }

    /// Start of a page.
    pub fn at(page: usize) -> usize {
        (2 + page) * PAGE
    }

    pub fn word(&self, at: usize) -> u64 {
        self.0[at / 8].load(Relaxed)
    }

    pub fn set(&self, at: usize, value: u64) {
        self.0[at / 8].store(value, Release);
    }

    pub fn set_u32(&self, at: usize, value: u32) {
        let shift = at % 8 * 8;
        let word = self.word(at) & !(u64::from(u32::MAX) << shift);
        self.set(at, word | u64::from(value) << shift);
    }

    pub fn set_generation(&self, value: u32) {
        self.set_u32(36, value);
    }

    /// Stores bytes anywhere.
    pub fn put(&self, at: usize, bytes: &[u8]) {
        for (at, byte) in (at..).zip(bytes) {
            let shift = at % 8 * 8;
            let word = self.word(at) & !(0xff << shift) | u64::from(*byte) << shift;
            self.0[at / 8].store(word, Relaxed);
        }
    }

    fn format(&self, at: usize, size: usize) {
        self.set_u32(at, u32::from_le_bytes(*b"BLPG"));
        self.set_u32(at + 4, size as u32);
        for field in [16, 24, 32, 40] {
            self.set(at + field, 0);
        }
    }

    /// Gives a ring an owner, whose pages come after position `seq`.
    pub fn adopt(&self, id: u32, pid: i32, seq: u64) {
        let at = Self::ring(id);
        let version = (self.word(at + 204) >> 32) as u32;
        self.set_u32(at + 204, version.wrapping_add(1));
        fence(Release);
        self.set(at + 208, u64::from(u32::MAX) << 32 | 1);
        self.set(at + 216, u64::from(pid as u32) << 32 | u64::from(pid as u32));
        self.put(at + 224, b"task");
        self.set(at + 240, seq + 1);
        self.set_u32(at + 204, version.wrapping_add(2));
    }

    /// Makes an owner look like one that changes just now, or no more.
    pub fn change(&self, id: u32) {
        let at = Self::ring(id) + 204;
        self.set_u32(at, ((self.word(at) >> 32) as u32).wrapping_add(1));
    }

    /// Begins a page of a ring, at its next position.
    pub fn begin(&self, at: usize, ring: u32, seq: u64, first: u64, base: u64) {
        let lives = self.word(at + 16) & !(LIFE - 1);
        self.set(at + 16, lives);
        fence(Release);
        self.set_u32(at + 8, ring);
        self.set(at + 24, base);
        self.set(at + 32, first);
        self.set(at + 40, HEADER as u64);
        self.set(at + 16, lives.wrapping_add(LIFE) | seq);
    }

    /// Publishes a record; control records have site 0.
    pub fn log(&self, at: usize, ts: u64, site: u64, payload: &[u8]) {
        let commit = self.word(at + 40);
        let end = commit as u32 as usize;
        let header = (ts & 0xf_ffff_ffff) << 28 | site << 10 | payload.len() as u64;
        self.put(at + end, &header.to_le_bytes());
        self.put(at + end + 8, payload);
        let records = commit >> 32;
        let end = end + 8 + payload.len();
        self.set(at + 40, (records + u64::from(site != 0)) << 32 | end as u64);
    }
}
