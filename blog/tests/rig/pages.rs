// SPDX-License-Identifier: GPL-2.0-only OR MIT

// Pages for tests: the account of what comes out of a ring. KUnit's suites, the tests of the host
// and of the decoder, the models and the verifier of torture runs compile this file.

use super::wire::{
    page::{
        PageInfo,
        PAGE_HEADER_SIZE,
        PAGE_MAGIC, //
    },
    record::{
        ControlRecord,
        Header,
        LOST_CAUSES, //
    }, //
};

/// What a page has, in its order.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    Record {
        clock: u64,
        site: u32,
        ordinal: u64,
        payload: &'a [u8],
    },
    /// With its clock.
    Control(u64, ControlRecord),
    /// A fault, and the ordinal of the record that it is at.
    Wrong(&'static str, u64),
}

/// Shows what a page has, of which there is as much as it says, and the faults that it finds;
/// returns the header. `last`: the time of the last record, before which none is.
pub fn walk<'a>(page: &'a [u8], last: &mut u64, mut see: impl FnMut(Item<'a>)) -> Option<PageInfo> {
    let Some(info) = PageInfo::read(page).filter(|info| info.magic == PAGE_MAGIC) else {
        see(Item::Wrong("no page", 0));
        return None;
    };
    let (mut at, mut base, mut here) = (PAGE_HEADER_SIZE, info.base, info.base);
    let mut ordinal = info.first;
    while let Some(header) = page.get(at..).and_then(|rest| rest.first_chunk()) {
        let header = Header(u64::from_le_bytes(*header));
        let Some(payload) = page.get(at..at + header.size()) else {
            break;
        };
        at += header.size();
        let payload = &payload[header.size() - header.payload()..];
        let said = match header.site() {
            0 => ControlRecord::from_payload(payload),
            _ => None,
        };
        if let Some(ControlRecord::TimeExtend(clock)) = said {
            base = clock;
        }
        let clock = header.clock(base);
        let is_record = header.site() != 0;
        // A piece of a page begins with control records of the time that the rest counts from.
        if clock < here || is_record && clock < *last {
            see(Item::Wrong("time goes back", ordinal));
        }
        here = clock;
        *last = if is_record { clock } else { *last };
        match (header.site(), said) {
            (0, None) => see(Item::Wrong("unknown control record", ordinal)),
            (0, Some(said)) => {
                see(Item::Control(clock, said));
                if let ControlRecord::Left(n) = said {
                    ordinal += n;
                }
            }
            (site, _) => {
                see(Item::Record {
                    clock,
                    site,
                    ordinal,
                    payload,
                });
                ordinal += 1;
            }
        }
    }
    let has_records = ordinal == info.first + u64::from(info.records());
    if at != page.len() || at != info.end() as usize || !has_records {
        see(Item::Wrong("torn page", ordinal));
    }
    Some(info)
}

/// What came out of a ring, page by page: decoded + overwritten + missing = taken, in order, each
/// record once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// The first ordinal: records before it are overwritten.
    pub first: Option<u64>,
    pub next: u64,
    /// Records that were there, be it that the reader's selection has left them out.
    pub decoded: u64,
    /// Records that weren't, between others, or before the first one of a stream.
    pub missing: u64,
    /// Losses that records report, by cause.
    pub told: [u64; LOST_CAUSES],
    last: u64,
}

impl Account {
    /// Takes in the next page, or the next piece of one, and shows what it has. `due`: what its
    /// first number should have been, if the reader says so.
    pub fn page<'a>(&mut self, page: &'a [u8], due: Option<u64>, mut see: impl FnMut(Item<'a>)) {
        let mut told = self.told;
        let info = walk(page, &mut self.last, |item| {
            if let Item::Control(_, ControlRecord::Lost { cause, count }) = item {
                told[usize::from(cause) % LOST_CAUSES] += count;
            }
            see(item);
        });
        self.told = told;
        let Some(info) = info else {
            return;
        };
        let (first, records) = (info.first, u64::from(info.records()));
        let known = self.first.map(|_| self.next);
        let due = due.or(known).unwrap_or(first);
        if known.is_some_and(|known| known != due) {
            see(Item::Wrong("missed in silence", first));
        }
        if first < due {
            see(Item::Wrong("records come again", first));
        }
        self.first.get_or_insert(due);
        self.missing += first.saturating_sub(due);
        self.decoded += records;
        self.next = first + records;
    }

    /// What is wrong with it, at rest: its ring has taken so many records, and these are its losses
    /// and those that it has reported.
    pub fn adds_up(
        &self,
        taken: u64,
        lost: &[u64; LOST_CAUSES],
        reported: &[u64; LOST_CAUSES],
    ) -> Result<(), &'static str> {
        let mut causes = self.told.iter().zip(reported).zip(lost);
        if !causes.all(|((told, reported), lost)| told <= reported && reported <= lost) {
            return Err("more losses are reported than counted");
        }
        // Overwritten are those before the first one, or all.
        let there = self.first.unwrap_or(taken) + self.decoded + self.missing;
        balance(taken, there, 0)
    }
}

/// At rest, what was attempted was taken by rings, or is counted as lost.
pub fn balance(attempted: u64, taken: u64, lost: u64) -> Result<(), &'static str> {
    match taken + lost {
        n if n < attempted => Err("silent loss"),
        n if n > attempted => Err("counted twice"),
        _ => Ok(()),
    }
}
