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
use kernel::blog::wire::{
    page::{
        PageInfo,
        PAGE_HEADER_SIZE, //
    },
    record::HEADER_SIZE, //
};

#[cfg(CONFIG_BLOG_PARTS)]
use super::choice::{
    Choice,
    Left, //
};

/// How much of a site's records a reader gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gets {
    All,
    /// No arguments.
    Header,
    #[cfg(CONFIG_BLOG_PARTS)]
    Nothing,
}

/// What one reader gets of each site.
pub(crate) struct Selection {
    addresses: bool,
    /// `None`: everything.
    #[cfg(CONFIG_BLOG_PARTS)]
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
            #[cfg(CONFIG_BLOG_PARTS)]
            chosen: None,
            sites: KVVec::new(),
        }
    }

    #[cfg(CONFIG_BLOG_PARTS)]
    pub(crate) fn choice(&self) -> &dyn Choice {
        match &self.chosen {
            Some(chosen) => &**chosen,
            None => &(),
        }
    }

    /// Whether it leaves pages as they are.
    pub(super) fn is_all(&self) -> bool {
        #[cfg(CONFIG_BLOG_PARTS)]
        if self.choice().is_by_site() {
            return false;
        }
        self.addresses
    }

    /// Adds the sites of an image, from the id `first` on, which follow those that are known.
    pub(crate) fn add(&mut self, first: u32, facts: &[ImageFacts]) -> Result {
        if self.is_all() {
            return Ok(());
        }
        for (_id, site) in (first..).zip(facts) {
            let gets = match site.has_address && !self.addresses {
                true => Gets::Header,
                false => Gets::All,
            };
            #[cfg(CONFIG_BLOG_PARTS)]
            let gets = match self.choice().has_site(_id, site.level) {
                true => gets,
                false => Gets::Nothing,
            };
            self.sites.push(gets, GFP_KERNEL)?;
        }
        Ok(())
    }

    fn gets(&self, id: u32) -> Gets {
        let later = Gets::Header;
        #[cfg(CONFIG_BLOG_PARTS)]
        let later = match self.choice().is_by_site() {
            true => Gets::Nothing,
            false => later,
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
    let mut to = PAGE_HEADER_SIZE;
    #[cfg(CONFIG_BLOG_PARTS)]
    let mut left = Left::since(info.base);
    while let Some((at, header)) = records.next(room) {
        let mut size = header.size();
        let gets = match header.site() {
            0 => Gets::All,
            site => gets(site),
        };
        #[cfg(CONFIG_BLOG_PARTS)]
        {
            if gets == Gets::Nothing {
                left.count += 1;
                left.clock = header.clock(left.base);
                continue;
            }
            left.write(room, &mut to);
            left.see(header, room.get(at + HEADER_SIZE..at + size));
        }
        room.copy_within(at..at + size, to);
        if gets == Gets::Header {
            size = HEADER_SIZE;
            put(room, to, &header.without_payload().0.to_le_bytes());
        }
        to += size;
    }
    #[cfg(CONFIG_BLOG_PARTS)]
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
