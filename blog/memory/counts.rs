// SPDX-License-Identifier: GPL-2.0

//! How many records of each call site have left the rings of all components. With those that are in
//! rings, that is how often the site has logged.
//!
//! A page is counted when it leaves its ring, which takes longer than all else of a page turn. So
//! there are counts only where the parameter `counts` asks for them; else the first page is null.
//! Sites have ids for good, so the counts of a module's build stay when it is unloaded, and go on
//! when it is back.

use core::{
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU64,
        Ordering::*, //
    }, //
};
use kernel::{
    blog::wire::{
        dump,
        record::SITE_MAX, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

use super::block::Block;
use crate::sys::params;

/// Sites that have their counts on one page.
pub(crate) const SITES: usize = PAGE_SIZE / size_of::<AtomicU64>();
const PAGES: usize = (SITE_MAX as usize + 1).div_ceil(SITES);

/// Pages of counts, by site. Each is null, or [`SITES`] counts that stay.
static COUNTS: [AtomicPtr<AtomicU64>; PAGES] = [const { AtomicPtr::new(ptr::null_mut()) }; PAGES];

/// The counts of the sites from `n * SITES` on; `None` from the first page on that there isn't.
pub(crate) fn page(n: usize) -> Option<&'static [AtomicU64; SITES]> {
    // ORDERING: Acquire pairs with the store in `reserve`: the counts are initialised.
    let page = COUNTS.get(n)?.load(Acquire).cast::<[AtomicU64; SITES]>();
    // SAFETY: It is null, or there are so many, which stay.
    unsafe { page.as_ref() }
}

pub(crate) fn pages() -> u32 {
    let there = |page: &&AtomicPtr<AtomicU64>| !page.load(Relaxed).is_null();
    COUNTS.iter().filter(there).count() as u32
}

/// Whether records are counted. Any context.
pub(super) fn are_on() -> bool {
    !COUNTS[0].load(Relaxed).is_null()
}

/// Counts records of a site. Any context.
pub(super) fn add(site: u32, n: u32) {
    let site = site as usize;
    if let Some(page) = page(site / SITES) {
        page[site % SITES].fetch_add(n.into(), Relaxed);
    }
}

/// Makes room for the counts of all sites up to this one, if there are to be any. One at a time.
pub(crate) fn reserve(last: u32) -> Result {
    if !params::param_counts() {
        return Ok(());
    }
    for page in COUNTS.iter().take(last as usize / SITES + 1) {
        if page.load(Relaxed).is_null() {
            // ORDERING: Release publishes the counts, which are 0.
            page.store(Block::new(1)?.into_page().cast(), Release);
        }
    }
    Ok(())
}

/// Where crash tools find the counts.
pub(crate) fn root() -> dump::TableRoot {
    dump::TableRoot {
        chunks: ptr::from_ref(&COUNTS) as u64,
        capacity: PAGES as u32,
        per_chunk: SITES as u32,
        stride: size_of::<AtomicU64>() as u32,
        reserved: 0,
    }
}
