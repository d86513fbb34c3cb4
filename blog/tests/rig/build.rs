// SPDX-License-Identifier: GPL-2.0-only OR MIT

// Makes pages for tests: KUnit's suites and the tests of the decoder compile this file.

use super::wire::{
    page::{
        PageInfo,
        PAGE_HEADER_SIZE,
        PAGE_MAGIC, //
    },
    record::{
        ControlRecord,
        Header,
        TS_BITS, //
    }, //
};

/// Where the bytes of a [`Page`] are. Those for which there is no memory are missing in it.
pub trait Buffer {
    fn put(&mut self, bytes: &[u8]);
    fn all(&mut self) -> &mut [u8];
}

/// A page under construction.
#[derive(Clone)]
pub struct Page<B> {
    pub bytes: B,
    high: u64,
    records: u32,
    pub first: u64,
}

impl<B: Buffer> Page<B> {
    /// Begins one of a ring, of which these are the position, the clock, and the number of the
    /// first record.
    pub fn begin(
        mut bytes: B,
        size: u32,
        ring: u32,
        (seq, base, first): (u64, u64, u64), //
    ) -> Self {
        let info = PageInfo {
            magic: PAGE_MAGIC,
            size,
            ring,
            next: 0,
            seq,
            base,
            first,
            commit: 0,
        };
        bytes.put(&info.bytes());
        let mut page = Self {
            bytes,
            high: base >> TS_BITS,
            records: 0,
            first,
        };
        page.count(0);
        page
    }

    pub fn raw_record(&mut self, clock: u64, site: u32, payload: &[u8]) {
        if clock >> TS_BITS != self.high {
            self.high = clock >> TS_BITS;
            self.say(clock, ControlRecord::TimeExtend(clock));
        }
        self.put(clock, site, payload);
        self.count(1);
    }

    pub fn say(&mut self, clock: u64, record: ControlRecord) {
        self.bytes.put(&record.bytes(clock)[..record.size()]);
        self.count(0);
    }

    /// Records of the page that weren't chosen for the reader.
    pub fn left(&mut self, clock: u64, count: u32) {
        self.say(clock, ControlRecord::Left(count.into()));
        self.count(count);
    }

    /// Appends something of this site that doesn't count.
    pub fn put(&mut self, clock: u64, site: u32, payload: &[u8]) {
        let header = Header::new(clock, site, payload.len() as u32);
        self.bytes.put(&header.0.to_le_bytes());
        self.bytes.put(payload);
        self.count(0);
    }

    pub fn records(&self) -> u32 {
        self.records
    }

    fn count(&mut self, records: u32) {
        self.records += records;
        self.publish(self.records);
    }

    /// Says that it has so many records, up to where its bytes end now.
    pub fn publish(&mut self, records: u32) {
        let all = self.bytes.all();
        let commit = all.len() as u64 | u64::from(records) << 32;
        if let Some(to) = all.get_mut(PAGE_HEADER_SIZE - 8..PAGE_HEADER_SIZE) {
            to.copy_from_slice(&commit.to_le_bytes());
        }
    }
}
