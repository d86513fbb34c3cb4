// SPDX-License-Identifier: GPL-2.0

//! Writing a record whose size is known when it has been stored: that of a call in C, whose
//! arguments are packed by their format.

use super::{
    super::wire::record::{
        Header,
        HEADER_SIZE, //
    },
    busy::Writing,
    page::PageHeader,
    peek::Peek,
    Reservation,
    Ring, //
};
use core::{
    ops::Range,
    sync::atomic::Ordering::Relaxed, //
};

impl Ring {
    /// Writes one record whose size is known when it has been stored: as [`Self::write`], and false
    /// if the record hasn't been written, and isn't begun any more.
    ///
    /// `fill` gets the place of the arguments, and what that is in the page, up to where it may
    /// store; there may be nothing. It returns how many bytes it has stored; `None`: there is no
    /// record.
    ///
    /// # Safety
    ///
    /// As for [`Self::write`].
    #[inline(always)]
    pub unsafe fn write_open(
        &self,
        slot: impl FnOnce() -> u32,
        site_shl10: u32,
        clock: impl FnOnce(&Writing<'_>) -> Option<u64>,
        fill: impl FnOnce(*mut u8, Range<usize>) -> Option<usize>,
    ) -> bool {
        // SAFETY: By this function's requirement; and `limit` is at most the size of the page.
        unsafe {
            let Ok((writing, page, commit, ts)) = self.enter(slot, clock) else {
                return false;
            };
            let limit = || self.cursor.limit.peek();
            writing.store_open((page, commit), limit, ts, site_shl10, fill)
        }
    }
}

impl Reservation<'_> {
    /// Writes one record there of which `fill` knows the size: see [`Ring::write_open`]. False if
    /// there is a place, but no record.
    ///
    /// # Safety
    ///
    /// `fill` is as for [`Ring::write_open`].
    pub unsafe fn put_open(
        self,
        site_shl10: u32,
        fill: impl FnOnce(*mut u8, Range<usize>) -> Option<usize>,
    ) -> bool {
        let Some(writing) = self.writing else {
            return true;
        };
        let page = writing.page();
        // SAFETY: By the cursor's invariants, `page` points to a valid header.
        unsafe {
            let commit = (*page).commit.load(Relaxed);
            let size = || (*page).size().into();
            writing.store_open((page, commit), size, self.ts, site_shl10, fill)
        }
    }
}

impl Writing<'_> {
    /// Stores a record of which `fill` knows the size up to `limit`, and publishes it; false if
    /// there is none.
    ///
    /// # Safety
    ///
    /// `page` is the ring's page with this `commit`, and `limit` returns at most the page's size.
    /// `fill` is as for [`Ring::write_open`].
    #[inline(always)]
    unsafe fn store_open(
        self,
        (page, commit): (*mut PageHeader, u64),
        limit: impl FnOnce() -> u64,
        ts: u64,
        site_shl10: u32,
        fill: impl FnOnce(*mut u8, Range<usize>) -> Option<usize>,
    ) -> bool {
        let end = commit as u32 as usize;
        let at = page.cast::<u8>().wrapping_add(end);
        // Now, so that there is less to keep meanwhile.
        let header = Header::from_parts(ts, site_shl10, HEADER_SIZE as u32).0;
        let room = end + HEADER_SIZE..limit() as usize;
        let Some(size) = fill(at.wrapping_add(HEADER_SIZE), room) else {
            return false;
        };
        let bytes = HEADER_SIZE.wrapping_add(size);
        // SAFETY: `fill` has stored what there is room for, up to the limit.
        unsafe { self.store((page, at), header | size as u64, bytes) };
        true
    }
}
