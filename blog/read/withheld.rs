// SPDX-License-Identifier: GPL-2.0

//! What a reader who may not see kernel addresses does not get: the arguments of calls that have an
//! address among them.
//!
//! See "Addresses" in Documentation/blog/internals.rst. A record keeps its header, and so its time,
//! its site and its place in the counts; a decoder knows it, as it has no payload.

use crate::read::piece::Records;
use kernel::{
    blog::wire::{
        page::{
            PageInfo,
            PAGE_HEADER_SIZE, //
        },
        record::HEADER_SIZE, //
    },
    prelude::*, //
};

pub(crate) struct Withheld {
    ids: KVVec<u32>,
    /// The last id of the images that are known. What comes later is withheld, too.
    known: u32,
}

impl Withheld {
    pub(crate) const fn new() -> Self {
        Self {
            ids: KVVec::new(),
            known: 0,
        }
    }

    /// Adds the sites from `first` to `last`, which follow those that are known. Those at
    /// `indices`, in ascending order, have an address among their arguments.
    pub(crate) fn add(&mut self, first: u32, last: u32, indices: &[u32]) -> Result {
        for index in indices {
            self.ids.push(first.saturating_add(*index), GFP_KERNEL)?;
        }
        self.known = last;
        Ok(())
    }

    pub(crate) fn has(&self, id: u32) -> bool {
        id > self.known || self.ids.binary_search(&id).is_ok()
    }

    /// Takes them out of a copied page, or a piece of one; returns its new length.
    pub(crate) fn take_out(&self, page: &mut [u8]) -> usize {
        let Some(mut info) = PageInfo::read(page) else {
            return 0;
        };
        let mut to = PAGE_HEADER_SIZE;
        let mut records = Records::new(page, info.end() as usize);
        while let Some((at, header)) = records.next(page) {
            let mut size = header.size();
            let secret = header.site() != 0 && self.has(header.site());
            if secret {
                size = HEADER_SIZE;
            }
            page.copy_within(at..at + size, to);
            if let Some(header_to) = page.get_mut(to..to + HEADER_SIZE).filter(|_| secret) {
                header_to.copy_from_slice(&header.without_payload().0.to_le_bytes());
            }
            to += size;
        }
        // Whatever is behind that is not given out.
        info.commit = u64::from(info.records()) << 32 | to as u64;
        if let Some(header) = page.get_mut(..PAGE_HEADER_SIZE) {
            header.copy_from_slice(&info.bytes());
        }
        to
    }
}
