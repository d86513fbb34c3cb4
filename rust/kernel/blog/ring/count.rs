// SPDX-License-Identifier: GPL-2.0

//! Counts the records that leave a ring, by site.

use super::{
    super::wire::{
        page::PAGE_HEADER_SIZE,
        record, //
    },
    page::{
        PageHeader,
        Pages, //
    }, //
};

/// Counts the records of a page that leaves its ring. By itself, as page turns are rarely counted.
///
/// # Safety
///
/// As for [`PageHeader::count`].
#[cold]
#[inline(never)]
pub(super) unsafe fn count<P: Pages>(pages: &P, page: *const PageHeader) {
    // SAFETY: By this function's requirement.
    unsafe {
        PageHeader::count(page, |site, n| {
            if site != 0 && n != 0 {
                pages.count(site, n);
            }
        })
    };
}

impl PageHeader {
    /// Calls `count` with each site of the page's records, and how many these are; perhaps several
    /// times.
    ///
    /// # Safety
    ///
    /// `page` is valid, and the caller's, who sees all records of it.
    unsafe fn count(page: *const PageHeader, mut count: impl FnMut(u32, u32)) {
        // A page has few sites, by turns.
        let mut sums = [(0, 0); 8];
        // SAFETY: By this function's requirement.
        let (end, mut at) = (unsafe { (*page).end() } as usize, PAGE_HEADER_SIZE);
        while at + record::HEADER_SIZE <= end {
            // SAFETY: A record starts here, before the end, as each has its size.
            let header =
                record::Header(unsafe { page.byte_add(at).cast::<u64>().read_unaligned() });
            let site = header.site();
            let sum = &mut sums[site as usize % 8];
            if sum.0 != site {
                count(sum.0, sum.1);
                *sum = (site, 0);
            }
            sum.1 += 1;
            at += header.size();
        }
        sums.into_iter().for_each(|(site, n)| count(site, n));
    }
}
