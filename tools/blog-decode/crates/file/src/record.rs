// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Goes through the records of one page.
//!
//! A page can be decoded alone: its header has the full clock and the ordinal of its first
//! record. [`Walk::next`] yields records and in-band losses; kinds of control records that it
//! doesn't know are skipped by their length. Whatever the bytes are, it ends, and never panics.

use std::borrow::Cow;

use crate::{
    blogfmt::bytes::{u64_at, until_nul},
    error::Error,
    wire::{
        page::{PageInfo, PAGE_HEADER_SIZE},
        record::{Context, ControlRecord, Header, Lost, HEADER_SIZE, WIRE_VERSION},
        types,
    },
};

/// A version of records that this program reads.
///
/// Kernels write the one that [`wire`](crate::wire) defines. What was different before is here, and
/// nowhere else: it is in files, and no kernel writes it any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Payloads in units of 4 bytes, 20 bits of a site id, a `u16` in front of each tail.
    One,
    /// That of [`WIRE_VERSION`].
    #[default]
    Two,
}

impl Version {
    /// Those that there are, in words.
    pub const READS: &str = "1 and 2";

    /// The version with this number; the error names what can be read.
    pub fn from_number(n: u32) -> Result<Self, Error> {
        match n {
            1 => Ok(Self::One),
            WIRE_VERSION => Ok(Self::Two),
            _ => {
                Err(Error::Version(format!("version {n}, but this program reads {}", Self::READS)))
            }
        }
    }

    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => WIRE_VERSION,
        }
    }

    /// Site id and payload length of a header.
    pub fn header(self, header: Header) -> (u32, usize) {
        match self {
            Self::One => ((header.0 >> 8) as u32 & 0xf_ffff, (header.0 & 0xff) as usize * 4),
            Self::Two => (header.site(), header.payload()),
        }
    }

    /// The longest payload.
    pub fn max_payload(self) -> usize {
        match self {
            Self::One => 1020,
            Self::Two => types::MAX_PAYLOAD,
        }
    }

    /// Size of the length that is in the fixed bytes of an argument with a tail.
    pub fn length_size(self) -> usize {
        match self {
            Self::One => 2,
            Self::Two => 1,
        }
    }

    /// What the length may take beyond that.
    pub fn long_size(self) -> usize {
        match self {
            Self::One => 0,
            Self::Two => types::LONG_SIZE,
        }
    }
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Thread id.
    pub pid: i32,
    /// Process id.
    pub tgid: i32,
    /// Name, NUL padded.
    pub comm: [u8; 16],
}

impl Task {
    /// Its name, as text.
    pub fn name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(until_nul(&self.comm))
    }
}

/// The writer of a record. By default, nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Where it ran.
    pub context: Option<Context>,
    /// The CPU of an interrupt's ring, or where the writer of a shared ring was when it began.
    pub cpu: Option<u32>,
    /// The task; none in an interrupt.
    pub task: Option<Task>,
}

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A record.
    Record {
        /// Full clock.
        clock: u64,
        /// Site id.
        site: u32,
        /// Ordinal in its ring, from 0.
        ordinal: u64,
        /// Where its payload starts in the page.
        at: usize,
        /// Length of its payload.
        len: usize,
    },
    /// Records were lost here.
    Lost {
        /// Full clock.
        clock: u64,
        /// Cause: an index into `Lost::ALL`, or something newer.
        cause: u8,
        /// How many.
        count: u64,
    },
    /// Another one writes from here on, in a ring that is shared.
    Writer(Writer),
    /// So many records stood here that weren't chosen for the reader of the file.
    Left(u64),
}

/// A position in a page.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    at: usize,
    end: usize,
    /// The clock that what follows goes by.
    base: u64,
    ordinal: u64,
    /// Records that the page's header speaks of.
    expected: u64,
    seen: u64,
    version: Version,
}

impl Walk {
    /// Starts at the first record. `len` is how many bytes of the page there are.
    pub fn new(info: &PageInfo, len: usize, version: Version) -> Self {
        Self {
            at: PAGE_HEADER_SIZE,
            end: len.min(info.end() as usize),
            base: info.base,
            ordinal: info.first,
            expected: info.records().into(),
            seen: 0,
            version,
        }
    }

    /// Records that the page's header speaks of and that were not found.
    pub fn missing(&self) -> u64 {
        self.expected.saturating_sub(self.seen)
    }

    /// Records found so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Bytes that are left when there is no further item: not 0 is damage.
    pub fn left(&self) -> usize {
        self.end - self.at.min(self.end)
    }

    /// The next item. `page` holds the bytes from the page's start.
    #[inline]
    pub fn next(&mut self, page: &[u8]) -> Option<Item> {
        while self.at < self.end {
            let header = Header(u64_at(page, self.at)?);
            let at = self.at + HEADER_SIZE;
            let (site, len) = self.version.header(header);
            if at + len > self.end || at + len > page.len() {
                return None;
            }
            let clock = header.clock(self.base);
            self.at = at + len;
            if site != 0 {
                let ordinal = self.ordinal;
                self.ordinal = ordinal.wrapping_add(1);
                self.seen += 1;
                return Some(Item::Record { clock, site, ordinal, at, len });
            }
            if let Some(item) = self.control(clock, &page[at..at + len]) {
                if let Item::Left(count) = item {
                    self.ordinal = self.ordinal.wrapping_add(count);
                    self.seen = self.seen.saturating_add(count);
                }
                return Some(item);
            }
        }
        None
    }

    fn control(&mut self, clock: u64, payload: &[u8]) -> Option<Item> {
        match ControlRecord::from_payload(payload)? {
            ControlRecord::TimeExtend(clock) => {
                self.base = clock;
                None
            }
            ControlRecord::Lost { cause, count } => Some(Item::Lost { clock, cause, count }),
            ControlRecord::Left(count) => Some(Item::Left(count)),
            ControlRecord::Task { context, cpu, pid, tgid, comm } => Some(Item::Writer(Writer {
                context: Context::from_u8(context),
                cpu: Some(cpu.into()),
                task: (pid >= 0).then_some(Task { pid, tgid, comm }),
            })),
        }
    }
}

/// Name of a cause of loss.
pub fn cause_name(cause: u8) -> &'static str {
    match Lost::ALL.get(usize::from(cause)) {
        Some(cause) => cause.name(),
        None => "unknown",
    }
}
