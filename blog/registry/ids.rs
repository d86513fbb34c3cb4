// SPDX-License-Identifier: GPL-2.0

//! Which site ids can be used again: those of builds that are gone, where no record names them.
//!
//! This looks at all records there are, so it is done only where ids have run out.

use kernel::{
    blog::wire::{
        page::PAGE_HEADER_SIZE,
        record::Header, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

use super::{
    all_components,
    images::Gone,
    state::Inner,
    with_images, //
};
use crate::sys::{
    room::fill,
    sort::sort_by_key, //
};

/// How many pages are looked at in one go.
const BATCH: u32 = 256;

/// Takes their ids from images that are gone, where nothing tells of them any more.
pub(super) fn free() -> Result {
    let mut gone = KVVec::new();
    fill(&mut gone, |room| {
        with_images(|images| images.gone().for_each(|image| room.push(image)))
    })?;
    if gone.is_empty() {
        // Nobody has left, or somebody may still know whose ids these were.
        return Ok(());
    }
    find_used(&mut gone)?;
    with_images(|images| images.free(&gone));
    Ok(())
}

/// Marks those of these images that a record names.
///
/// An image that is gone gets no more records. So what changes meanwhile, as rings go on, is that
/// one is named no more.
pub(crate) fn find_used(gone: &mut [Gone]) -> Result {
    sort_by_key(gone, |image| image.first);
    let mut page = KVVec::new();
    page.resize(PAGE_SIZE, 0, GFP_KERNEL)?;
    for state in all_components() {
        // Its lock isn't held for long, as its log calls may wait for who does.
        let mut from = 0;
        while state.with(|inner| look(inner, from, &mut page, gone)) {
            from += BATCH;
        }
    }
    Ok(())
}

/// The same by the records of one component in the next pages from this one on. True: there may be
/// more.
fn look(inner: &Inner, from: u32, copy: &mut [u8], gone: &mut [Gone]) -> bool {
    let Some((memory, _)) = inner.memory() else {
        return false;
    };
    memory.for_each_page_in(from..from + BATCH, |index, page| {
        let Some(len) = memory.copy(index, page.seq(), copy) else {
            return;
        };
        let mut at = PAGE_HEADER_SIZE;
        let copy = copy.get(..len).unwrap_or_default();
        while let Some(header) = copy.get(at..).and_then(<[u8]>::first_chunk) {
            let header = Header(u64::from_le_bytes(*header));
            let behind = gone.partition_point(|image| image.first <= header.site());
            if let Some(image) = behind.checked_sub(1).and_then(|n| gone.get_mut(n)) {
                image.used |= header.site() <= image.last;
            }
            at += header.size();
        }
    })
}
