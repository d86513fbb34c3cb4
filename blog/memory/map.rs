// SPDX-License-Identifier: GPL-2.0

//! A component's memory as processes map it, read only: pages in slots, after a page that says what
//! they are. The reader's side is Documentation/blog/formats.rst, "Mapped memory".
//!
//! A mapping counts as a user of each of its pages. So a page that the component gives up stays
//! memory of nobody else until it is unmapped, and a process that maps it harms nobody. Log calls
//! and other readers don't know of mappings.

use core::{
    ptr::{
        self,
        NonNull, //
    },
    sync::atomic::{
        fence,
        AtomicPtr,
        AtomicU32,
        Ordering::*, //
    }, //
};
use kernel::{
    blog::{
        ring::Ring,
        wire::{
            map::{
                Meta,
                GONE,
                MAGIC,
                VERSION, //
            },
            record::WIRE_VERSION, //
        }, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

use super::{
    block::Block,
    pool::Store,
    store::{
        RINGS,
        SIZES, //
    },
    Memory, //
};
use crate::sys::pages::Mapped;

const _: () = assert!(size_of::<Meta>() <= PAGE_SIZE);

/// The meta page, once somebody has mapped the memory.
///
/// # Invariants
///
/// `at` is null, or leads to a page of [`Block::into_page`] that starts with a [`Meta`] and is this
/// one's, and doesn't change until [`Self::end`]. Other fields than `places` and `generation` never
/// change, and these only under the component's lock.
pub(super) struct MetaPage {
    at: AtomicPtr<Meta>,
}

impl MetaPage {
    pub(super) const fn new() -> Self {
        // INVARIANT: There is none.
        Self {
            at: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn get(&self) -> Option<NonNull<Meta>> {
        // ORDERING: Acquire pairs with `make`: it has been filled in.
        NonNull::new(self.at.load(Acquire))
    }

    /// Makes it of this page if there is none; under the component's lock.
    fn make(&self, page: &mut Option<Block>, places: u32) -> Option<NonNull<Meta>> {
        if self.get().is_none() {
            let at = page.take()?.into_page().cast::<Meta>();
            let ring = Ring::LAYOUT;
            let meta = Meta {
                magic: MAGIC,
                version: VERSION,
                size: size_of::<Meta>() as u32,
                wire_version: WIRE_VERSION,
                page_size: SIZES.page,
                chunk_size: SIZES.chunk,
                rings: RINGS as u32,
                places,
                generation: GONE + 1,
                ring_size: ring.size,
                id: ring.id,
                owner_version: ring.version,
                state: ring.state,
                context: ring.context,
                cpu: ring.cpu,
                pid: ring.pid,
                tgid: ring.tgid,
                comm: ring.comm,
                exit_clock: ring.exit_clock,
                first_seq: ring.first_seq,
                lost: ring.lost,
                told: ring.told,
                reserved: 0,
            };
            // SAFETY: A page has room for it, and this one is nobody else's.
            unsafe { at.write(meta) };
            // INVARIANT: It is such a page.
            // ORDERING: Release publishes it.
            self.at.store(at, Release);
        }
        self.get()
    }

    /// Says that the places have changed; under the component's lock.
    pub(super) fn change(&self, places: u32) {
        let Some(at) = self.get() else { return };
        let at = at.as_ptr();
        // SAFETY: By the type invariants; what is mapped is read only.
        let (count, generation) = unsafe {
            (
                AtomicU32::from_ptr(&raw mut (*at).places),
                AtomicU32::from_ptr(&raw mut (*at).generation),
            )
        };
        count.store(places, Relaxed);
        let next = generation.load(Relaxed).wrapping_add(1);
        // ORDERING: Release: who sees the new number sees the new count.
        generation.store(if next == GONE { GONE + 1 } else { next }, Release);
    }

    /// Says that all of it is gone, and takes the page out. Nobody else knows the memory any more.
    pub(super) fn end(&self) -> *mut u8 {
        let at = self.at.swap(ptr::null_mut(), Relaxed);
        if !at.is_null() {
            // SAFETY: By the type invariants.
            unsafe { AtomicU32::from_ptr(&raw mut (*at).generation) }.store(GONE, Relaxed);
            // ORDERING: It comes before what is done to the pages from here on, for a reader that
            // fences between its copy and its second look.
            fence(Release);
        }
        at.cast()
    }
}

impl Memory {
    /// Pages of the file that is mapped: the meta page, and one for each slot.
    pub(crate) fn file_pages(&self) -> usize {
        1 + self.pool.store.places() as usize
    }

    pub(crate) fn has_meta_page(&self) -> bool {
        self.map.get().is_some()
    }

    /// Adds `count` pages of the file from `first` on to `to`, which has room for them; `EINVAL`
    /// where there are fewer. Under the component's lock; `page` becomes the meta page if there is
    /// none yet, and `EAGAIN` says that one is needed.
    pub(crate) fn map(
        &self,
        page: &mut Option<Block>,
        first: usize,
        count: usize,
        to: &mut KVVec<Mapped>,
    ) -> Result {
        let last = first.saturating_add(count);
        if last > self.file_pages() {
            return Err(EINVAL);
        }
        let meta = self.map.make(page, self.pool.store.places());
        let meta = meta.ok_or(EAGAIN)?.cast();
        for n in first..last {
            // A place without a page is the meta page again, which holds no ring and no record.
            let number = n.checked_sub(1).map(|n| n as u32);
            let slot = number.and_then(|number| self.pool.store.slot(number));
            let at = slot.and_then(|slot| NonNull::new(slot.memory()));
            // SAFETY: What is in a slot is a single page. Log calls may just take it out, but then
            // it is one of a table of tasks, and isn't freed while a file is open; others take it
            // out under the component's lock.
            let page = unsafe { Mapped::new(at.unwrap_or(meta)) };
            to.push_within_capacity(page).map_err(|_| ENOMEM)?;
        }
        Ok(())
    }
}
