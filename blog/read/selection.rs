// SPDX-License-Identifier: GPL-2.0

//! Selects what a reader gets: everything, or what was chosen for its open file. A reader that may
//! not see addresses gets no arguments of calls that have one among them.
//!
//! See "Addresses" in Documentation/blog/design-read.rst. A record without its arguments keeps its
//! header, and so its time, its site and its place in the counts; a decoder knows it by the missing
//! payload. In place of records that weren't chosen, a control record has their number.

use crate::{
    read::piece::Records,
    registry::{
        images::Facts,
        words, //
    }, //
};
use kernel::{
    blog::{
        ring::Owner,
        wire::{
            page::{
                PageInfo,
                PAGE_HEADER_SIZE, //
            },
            record::{
                Context,
                ControlRecord,
                Level,
                HEADER_SIZE, //
            }, //
        }, //
    },
    prelude::*, //
};

/// What was chosen, by the words that were written to the file. Of each kind that is given, one
/// must fit.
#[derive(Default)]
pub(crate) struct Chosen {
    /// As they were written; see [`words::fits`].
    components: KVec<KVec<u8>>,
    /// Ids of threads or processes.
    tasks: KVec<i32>,
    /// This level, and more important ones.
    level: Option<Level>,
    sites: KVec<(u32, u32)>,
}

impl Chosen {
    /// `KEY=VALUE,VALUE… KEY=VALUE…`, with the keys `component`, `task`, `level` and `site`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut new = Self::default();
        for word in text.split_ascii_whitespace() {
            let (key, values) = word.split_once('=').ok_or(EINVAL)?;
            for value in values.split(',') {
                match key {
                    "component" => {
                        let mut name = KVec::new();
                        name.extend_from_slice(words::names(value)?.as_bytes(), GFP_KERNEL)?;
                        new.components.push(name, GFP_KERNEL)?;
                    }
                    "task" => {
                        let id = i32::try_from(words::parse_number(value)?).map_err(|_| EINVAL)?;
                        new.tasks.push(id, GFP_KERNEL)?;
                    }
                    "level" if new.level.is_none() => {
                        new.level = Some(words::parse_level(value)?.ok_or(EINVAL)?);
                    }
                    "site" => new.sites.push(words::ids(value)?, GFP_KERNEL)?,
                    _ => return Err(EINVAL),
                }
            }
        }
        match text.trim_ascii().is_empty() {
            true => Err(EINVAL),
            false => Ok(new),
        }
    }

    pub(super) fn has_all_components(&self) -> bool {
        self.components.is_empty()
    }

    pub(super) fn has_component(&self, name: &CStr) -> bool {
        let name = name.to_bytes();
        self.has_all_components() || self.components.iter().any(|names| words::fits(names, name))
    }

    pub(super) fn has_task(&self, pid: i32, tgid: i32) -> bool {
        self.tasks.is_empty() || self.tasks.contains(&pid) || self.tasks.contains(&tgid)
    }

    /// Whether a ring is of a task that was chosen. Nobody knows for whom an interrupt came.
    pub(super) fn has_owner(&self, owner: &Owner) -> bool {
        let is_task = owner.context == Context::Task;
        self.tasks.is_empty() || is_task && self.has_task(owner.pid, owner.tgid)
    }

    fn has_site(&self, id: u32, level: Option<Level>) -> bool {
        let within = |(first, last): &(u32, u32)| (*first..=*last).contains(&id);
        self.level
            .is_none_or(|most| level.is_some_and(|level| level <= most))
            && (self.sites.is_empty() || self.sites.iter().any(within))
    }
}

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
    pub(crate) chosen: Chosen,
    /// By site, from 1 on. What comes later than those that are known is not given out, where
    /// anything isn't.
    sites: KVVec<Gets>,
}

impl Selection {
    /// All; `addresses`: with the arguments of calls that have addresses.
    pub(crate) fn new(addresses: bool) -> Self {
        Self {
            addresses,
            chosen: Chosen::default(),
            sites: KVVec::new(),
        }
    }

    fn is_by_site(&self) -> bool {
        self.chosen.level.is_some() || !self.chosen.sites.is_empty()
    }

    /// Whether it leaves pages as they are.
    pub(super) fn is_all(&self) -> bool {
        self.addresses && !self.is_by_site()
    }

    /// Adds the sites of an image, from the id `first` on, which follow those that are known.
    pub(crate) fn add(&mut self, first: u32, facts: &[Facts]) -> Result {
        if self.is_all() {
            return Ok(());
        }
        for (id, site) in (first..).zip(facts) {
            let gets = match (self.chosen.has_site(id, site.level), site.has_address) {
                (false, _) => Gets::Nothing,
                (true, true) if !self.addresses => Gets::Header,
                (true, _) => Gets::All,
            };
            self.sites.push(gets, GFP_KERNEL)?;
        }
        Ok(())
    }

    fn gets(&self, id: u32) -> Gets {
        let later = match self.is_by_site() {
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
