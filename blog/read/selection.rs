// SPDX-License-Identifier: GPL-2.0

//! Selects what a reader gets: everything, or what was chosen for its open file. A reader that may
//! not see addresses gets no arguments of calls that have one among them.
//!
//! See "Addresses" in Documentation/blog/. A record without its arguments keeps its
//! header, and so its time, its site and its place in the counts; a decoder knows it by the missing
//! payload. In place of records that weren't chosen, a control record has their number.

use crate::{
    read::piece::Records,
    registry::images::ImageFacts,
    sys::prelude::*, //
};
use kernel::blog::{
    ring::Owner,
    wire::{
        page::{
            PageInfo,
            PAGE_HEADER_SIZE, //
        },
        record::{
            ControlRecord,
            Level,
            HEADER_SIZE, //
        }, //
    }, //
};

/// What is chosen for an open file; by itself, everything.
pub(crate) trait Choice: Send + Sync {
    fn has_all_components(&self) -> bool {
        true
    }

    fn has_component(&self, _name: &CStr) -> bool {
        true
    }

    fn has_task(&self, _pid: i32, _tgid: i32) -> bool {
        true
    }

    /// Whether it has the ring of this owner.
    fn has_owner(&self, _owner: &Owner) -> bool {
        true
    }

    /// Whether it leaves sites out.
    fn is_by_site(&self) -> bool {
        false
    }

    fn has_site(&self, _id: u32, _level: Option<Level>) -> bool {
        true
    }
}

/// Everything.
impl Choice for () {}

/// How a part makes it of a text that was written to the file. Set before there are files.
pub(crate) static CHOOSE: SetOnce<fn(&str) -> Result<KBox<dyn Choice>>> = SetOnce::new();

/// How much of a site's records a reader gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gets {
    All,
    /// No arguments.
    Header,
    Nothing,
}

/// What one reader gets of each site.
pub(crate) struct Selection {
    addresses: bool,
    /// `None`: everything.
    pub(crate) chosen: Option<KBox<dyn Choice>>,
    /// By site, from 1 on. What comes later than those that are known is not given out, where
    /// anything isn't.
    sites: KVVec<Gets>,
}

impl Selection {
    /// All; `addresses`: with the arguments of calls that have addresses.
    pub(crate) fn new(addresses: bool) -> Self {
        Self {
            addresses,
            chosen: None,
            sites: KVVec::new(),
        }
    }

    pub(crate) fn choice(&self) -> &dyn Choice {
        match &self.chosen {
            Some(chosen) => &**chosen,
            None => &(),
        }
    }

    /// Whether it leaves pages as they are.
    pub(super) fn is_all(&self) -> bool {
        self.addresses && !self.choice().is_by_site()
    }

    /// Adds the sites of an image, from the id `first` on, which follow those that are known.
    pub(crate) fn add(&mut self, first: u32, facts: &[ImageFacts]) -> Result {
        if self.is_all() {
            return Ok(());
        }
        for (id, site) in (first..).zip(facts) {
            let gets = match (self.choice().has_site(id, site.level), site.has_address) {
                (false, _) => Gets::Nothing,
                (true, true) if !self.addresses => Gets::Header,
                (true, _) => Gets::All,
            };
            self.sites.push(gets, GFP_KERNEL)?;
        }
        Ok(())
    }

    fn gets(&self, id: u32) -> Gets {
        let later = match self.choice().is_by_site() {
            true => Gets::Nothing,
            false => Gets::Header,
        };
        let known = (id as usize).checked_sub(1);
        known
            .and_then(|i| self.sites.get(i))
            .copied()
            .unwrap_or(later)
    }

    /// [`take_out`] of what the reader doesn't get.
    pub(crate) fn take_out(&self, room: &mut [u8], len: usize) -> usize {
        take_out(room, len, |site| self.gets(site))
    }
}

/// Removes from a copied page, or a piece of one, what a reader doesn't get, as `gets` says of its
/// sites; returns its new length. `room` starts with the page and is twice as long as a page may
/// be, as the control records in place of records that weren't chosen may be longer than those
/// were.
pub(crate) fn take_out(room: &mut [u8], len: usize, gets: impl Fn(u32) -> Gets) -> usize {
    let Some(mut info) = PageInfo::read(room) else {
        return 0;
    };
    let end = (info.end() as usize).clamp(PAGE_HEADER_SIZE, len.max(PAGE_HEADER_SIZE));
    // What is read goes to the end, so that what is written doesn't reach it: for two records of no
    // less than 8 bytes each, 20 bytes more are written at most.
    let gap = room.len() - end;
    room.copy_within(PAGE_HEADER_SIZE..end, PAGE_HEADER_SIZE + gap);
    let mut records = Records::new(room, PAGE_HEADER_SIZE + gap, end + gap);
    let (mut to, mut base, mut left) = (PAGE_HEADER_SIZE, info.base, Left::default());
    while let Some((at, header)) = records.next(room) {
        let (mut size, clock) = (header.size(), header.clock(base));
        let gets = match header.site() {
            0 => Gets::All,
            site => gets(site),
        };
        if gets == Gets::Nothing {
            left.count += 1;
            left.clock = clock;
            continue;
        }
        left.write(room, &mut to);
        if header.site() == 0 {
            let said = room.get(at + HEADER_SIZE..at + size);
            if let Some(ControlRecord::TimeExtend(time)) =
                said.and_then(ControlRecord::from_payload)
            {
                base = time;
            }
        }
        room.copy_within(at..at + size, to);
        if gets == Gets::Header {
            size = HEADER_SIZE;
            put(room, to, &header.without_payload().0.to_le_bytes());
        }
        to += size;
    }
    left.write(room, &mut to);
    // Nothing after that is given out.
    info.commit = u64::from(info.records()) << 32 | to as u64;
    put(room, 0, &info.bytes());
    to
}

fn put(room: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = room.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Records that weren't chosen, one after the other, and the time of the last one.
#[derive(Default)]
struct Left {
    count: u64,
    clock: u64,
}

impl Left {
    /// Writes their number, if there are any.
    fn write(&mut self, room: &mut [u8], to: &mut usize) {
        if self.count != 0 {
            let record = ControlRecord::Left(self.count);
            let bytes = record.bytes(self.clock);
            put(room, *to, bytes.get(..record.size()).unwrap_or_default());
            *to += record.size();
            self.count = 0;
        }
    }
}
