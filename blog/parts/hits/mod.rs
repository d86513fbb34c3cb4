// SPDX-License-Identifier: GPL-2.0

//! How many records of each call site have left the rings of all components. With those that are in
//! rings, that is how often the site has logged.
//!
//! A page is counted when it leaves its ring, which takes longer than all else of a page turn. So
//! there are counts only where the parameter `counts` asks for them; else the first page is null.
//! Sites have ids for good, so the counts of a module's build stay when it is unloaded, and go on
//! when it is back.

use kernel::blog::{
    root::blog_root,
    wire::{
        self,
        dump,
        file::Kind,
        record::SITE_MAX, //
    }, //
};

kunit! { mod tests; }

// Programs that read what it describes have this file, too.
#[allow(dead_code, unreachable_pub)]
mod format;

use crate::{
    floor::Part,
    memory::{
        block::Block,
        budget,
        LEAVING, //
    },
    read::{
        sections::Sections,
        walk::SECTIONS, //
    },
    registry::images::RESERVE,
    sys::prelude::*, //
};

pub(crate) static PART: Part = Part {
    start,
    ..Part::NONE
};

unsafe extern "C" {
    // hits.c
    static blog_param_counts: bool;
}

/// Sites that have their counts on one page.
const SITES: usize = PAGE_SIZE / size_of::<AtomicU64>();
const PAGES: usize = (SITE_MAX as usize + 1).div_ceil(SITES);

/// Pages of counts, by site. Each is null, or [`SITES`] counts that stay.
static COUNTS: [AtomicPtr<AtomicU64>; PAGES] = [const { AtomicPtr::new(ptr::null_mut()) }; PAGES];

/// The counts of the sites from `n * SITES` on; `None` from the first page on that there isn't.
fn page(n: usize) -> Option<&'static [AtomicU64; SITES]> {
    // ORDERING: Acquire pairs with the store in `reserve`: the counts are initialised.
    let page = COUNTS.get(n)?.load(Acquire).cast::<[AtomicU64; SITES]>();
    // SAFETY: It is null, or there are so many, which stay.
    unsafe { page.as_ref() }
}

/// Counts records of a site. Any context.
fn add(site: u32, n: u32) {
    let site = site as usize;
    if let Some(page) = page(site / SITES) {
        page[site % SITES].fetch_add(n.into(), Relaxed);
    }
}

/// Makes room for the counts of all sites up to this one. One at a time.
fn reserve(last: u32) -> Result {
    for page in COUNTS.iter().take(last as usize / SITES + 1) {
        if page.load(Relaxed).is_null() {
            // ORDERING: Release publishes the counts, which are 0.
            page.store(Block::new(1)?.into_page().cast(), Release);
            budget::FIXED.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

/// Shows crash tools where the counts are, and has them made if that is wanted.
fn start() {
    let table = dump::TableRoot {
        chunks: ptr::from_ref(&COUNTS) as u64,
        capacity: PAGES as u32,
        per_chunk: SITES as u32,
        stride: size_of::<AtomicU64>() as u32,
        doubling: 0,
    };
    // SAFETY: The root is there, and nobody else stores to this field.
    unsafe { blog_root.update(|root| (*root).counts = table) };
    // SAFETY: Nobody changes it once BLog starts.
    if unsafe { blog_param_counts } {
        RESERVE.populate(reserve);
        LEAVING.populate(add);
    }
    SECTIONS.populate(sections);
}

/// Writes the pages of counts that have any.
fn sections(out: &mut Sections, late: bool) -> Result {
    let is_set = |count: &AtomicU64| count.load(Relaxed) != 0;
    let all = (0..).map_while(|n| Some((n, page(n)?)));
    for (n, page) in all.filter(|(_, page)| page.iter().any(is_set)) {
        let header = format::Counts {
            first: (n * SITES) as u32,
            late: late.into(),
        };
        out.begin();
        out.push(&header.bytes())?;
        for count in page {
            out.push(&count.load(Relaxed).to_ne_bytes())?;
        }
        out.end(Kind::Counts)?;
    }
    Ok(())
}
