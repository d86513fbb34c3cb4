// SPDX-License-Identifier: GPL-2.0

//! The place of a page: its memory, its links, and whether it is whole or split into chunks.
//!
//! Slots stay in their places as long as the component's memory lives. BLog may give the page in
//! one back to the kernel, and another one may come.
//!
//! To rings, the index of a page is the number of a slot and a part: [`Index`].

use core::{
    mem::{
        offset_of,
        size_of, //
    },
    ptr,
    sync::atomic::{
        fence,
        AtomicPtr,
        AtomicU32,
        Ordering::*, //
    }, //
};
use kernel::blog::{
    ring::PageHeader,
    wire::dump::SlotLayout, //
};

use super::NONE;

/// Bits of an index for the part of the page.
const PART_BITS: u32 = 5;
/// The part that is the whole page.
const WHOLE: u32 = 16;
/// The bit of the whole page, in words that have a bit for each part.
pub(super) const WHOLE_BIT: u32 = 1 << WHOLE;

/// Sizes in bytes of what rings are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) page: u32,
    /// A chunk, of which a page has at most 16; 0: pages are not split.
    pub(crate) chunk: u32,
}

impl Sizes {
    pub(crate) fn chunks(self) -> u32 {
        let chunks = self.page.checked_div(self.chunk);
        chunks.map_or(0, |n| n.min(WHOLE))
    }
}

/// The index of a page or chunk, as rings use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Index(pub(crate) u32);

impl Index {
    pub(crate) const fn whole(slot: u32) -> Self {
        Self(slot << PART_BITS | WHOLE)
    }

    pub(crate) const fn chunk(slot: u32, chunk: u32) -> Self {
        Self(slot << PART_BITS | chunk)
    }

    pub(crate) const fn slot(self) -> u32 {
        self.0 >> PART_BITS
    }

    /// Number of the chunk; `None`: it is the whole page.
    pub(crate) const fn part(self) -> Option<u32> {
        match self.0 & ((1 << PART_BITS) - 1) {
            WHOLE => None,
            part => Some(part),
        }
    }
}

/// Place for a page.
///
/// # Invariants
///
/// - `page` is null, or memory of a page's size, which stays as long as any caller that has found
///   it here may look at it.
/// - `shape` grows by one before and after each change from whole to split and back; only the owner
///   of the whole page changes it. Its bit 0 is set during a change, and while the page is closed;
///   its bit 1 while the page is split.
/// - While `shape` says that the page is whole, there is a header at its start; while it says that
///   the page is split, at the start of each chunk.
pub(crate) struct Slot {
    page: AtomicPtr<PageHeader>,
    /// In the `n`-th slot, the `n`-th page that was made rings, or null: see [`super::Store`],
    /// whose it is.
    pub(crate) rings: AtomicPtr<()>,
    shape: AtomicU32,
    /// Free chunks: see `slab.rs`.
    pub(super) chunks: AtomicU32,
    /// The page after this one, and the one before, in a list of free or of split pages.
    pub(super) link: AtomicU32,
    pub(super) back: AtomicU32,
    /// The shelf that it belongs to while it is split.
    pub(super) shelf: AtomicU32,
    /// Chunks, or the bit of the whole page, that found no shelf: see [`Self::leave`].
    left: AtomicU32,
}

impl Slot {
    /// Where crash tools find what they need: see `rust/kernel/blog/wire/dump.rs`.
    pub(crate) const LAYOUT: SlotLayout = SlotLayout {
        size: size_of::<Self>() as u32,
        page: offset_of!(Self, page) as u32,
        shape: offset_of!(Self, shape) as u32,
        rings: offset_of!(Self, rings) as u32,
    };

    pub(crate) const fn new() -> Self {
        Self {
            page: AtomicPtr::new(ptr::null_mut()),
            rings: AtomicPtr::new(ptr::null_mut()),
            shape: AtomicU32::new(0),
            chunks: AtomicU32::new(0),
            link: AtomicU32::new(NONE),
            back: AtomicU32::new(NONE),
            shelf: AtomicU32::new(0),
            left: AtomicU32::new(0),
        }
    }

    /// Puts a page in.
    ///
    /// # Safety
    ///
    /// The slot has none. `page` is valid for `sizes.page` bytes, initialised, aligned to 8, and
    /// nobody else's.
    pub(crate) unsafe fn fill(&self, page: *mut PageHeader, sizes: Sizes) {
        // INVARIANT: There is a header at the start of the page, which is whole.
        // SAFETY: By this function's requirement.
        unsafe { PageHeader::format(page, sizes.page) };
        // ORDERING: Release publishes the header.
        self.page.store(page, Release);
        self.open();
    }

    /// Makes the page, which is whole and the caller's, one that readers pass over; returns its
    /// memory. Those who have found it before may still look at it.
    pub(crate) fn close(&self) -> *mut PageHeader {
        self.shape.fetch_add(1, Relaxed);
        // ORDERING: As in `reshape`: the odd number comes before what the caller does.
        fence(Release);
        self.page.load(Relaxed)
    }

    /// Undoes [`Self::close`]: there is a header at the start of the page.
    pub(crate) fn open(&self) {
        let shape = self.shape.load(Relaxed);
        // ORDERING: Release: who acquires the new shape sees the header.
        self.shape.store((shape | 3).wrapping_add(1), Release);
    }

    /// Takes the page out, which is the caller's.
    pub(crate) fn empty(&self) -> *mut PageHeader {
        self.page.swap(ptr::null_mut(), Relaxed)
    }

    /// The memory of the page, or null.
    pub(crate) fn memory(&self) -> *mut u8 {
        self.page.load(Relaxed).cast()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.page.load(Relaxed).is_null()
    }

    /// The header of a part, where there is a page.
    pub(crate) fn header(&self, index: Index, sizes: Sizes) -> Option<*mut PageHeader> {
        // ORDERING: Acquire pairs with `fill`: the memory has been initialised.
        let page = self.page.load(Acquire);
        if page.is_null() {
            return None;
        }
        match index.part() {
            None => Some(page),
            Some(part) if part < sizes.chunks() => {
                // The part lies in the page.
                Some(page.wrapping_byte_add((part * sizes.chunk) as usize))
            }
            Some(_) => None,
        }
    }

    /// Leaves parts, by their bits, which are the caller's.
    pub(super) fn leave(&self, parts: u32) {
        // ORDERING: Release pairs with `take_left`: what was done to the parts is visible.
        self.left.fetch_or(parts, Release);
    }

    /// Takes what was left.
    pub(super) fn take_left(&self) -> u32 {
        match self.left.load(Relaxed) {
            0 => 0,
            // ORDERING: Acquire: see `leave`. Read-modify-writes that follow continue the release
            // sequence, so each who left something is seen, not only the last one.
            _ => self.left.swap(0, Acquire),
        }
    }

    /// Number of chunks that are free; `None` if the page is whole. A moment old.
    pub(super) fn free_chunks(&self) -> Option<u32> {
        let free = self.chunks.load(Relaxed) | self.left.load(Relaxed) & !WHOLE_BIT;
        Self::is_split(self.shape.load(Relaxed))?.then(|| free.count_ones())
    }

    /// Makes the page, which is whole and the caller's, one of chunks, all of which are the
    /// caller's then.
    pub(super) fn divide(&self, sizes: Sizes) {
        let page = self.page.load(Acquire);
        self.reshape(|| {
            // The first one as the last: as long as it is that of a page, the next boot, if there
            // is one amid this, finds a page without records.
            for chunk in (0..sizes.chunks()).rev() {
                let at = page.wrapping_byte_add((chunk * sizes.chunk) as usize);
                // SAFETY: The chunk lies in the page, which is the caller's. A reader that still
                // looks at it finds out that it has changed.
                unsafe { PageHeader::format(at, sizes.chunk) };
            }
        });
    }

    /// Makes the page, all chunks of which are the caller's, a whole one.
    pub(super) fn unite(&self, sizes: Sizes) {
        let page = self.page.load(Acquire);
        // SAFETY: The page is the caller's.
        self.reshape(|| unsafe { PageHeader::format(page, sizes.page) });
    }

    fn reshape(&self, change: impl FnOnce()) {
        let shape = self.shape.load(Relaxed);
        self.shape.store(shape.wrapping_add(1), Relaxed);
        // ORDERING: The odd number comes before the change, for a reader that fences between its
        // copy and its second look.
        fence(Release);
        change();
        // ORDERING: Release: who acquires the new shape sees the headers that belong to it.
        self.shape.store(shape.wrapping_add(2), Release);
    }

    /// Whether the page is split, where that isn't just changing.
    fn is_split(shape: u32) -> Option<bool> {
        (shape & 1 == 0).then_some(shape & 2 != 0)
    }

    /// Copies a part, if it is at position `seq` of a ring, as far as it is published, to `to`;
    /// returns the number of bytes.
    ///
    /// The caller must not sleep in between.
    pub(crate) fn copy(
        &self,
        index: Index,
        sizes: Sizes,
        seq: u64,
        to: &mut [u8],
    ) -> Option<usize> {
        // ORDERING: Acquire: see `reshape`.
        let shape = self.shape.load(Acquire);
        let size = match (Self::is_split(shape)?, index.part()) {
            (false, None) => sizes.page,
            (true, Some(_)) => sizes.chunk,
            _ => return None,
        };
        let header = self.header(index, sizes)?;
        // SAFETY: The part lies in the page, which stays. Whether it still is one is looked at
        // below.
        let len = unsafe { PageHeader::copy(header, size, seq, to) }?;
        // ORDERING: The fence pairs with the one in `reshape`: if anything of what was copied was
        // stored after a change of the shape began, then it reads as changed here.
        fence(Acquire);
        (self.shape.load(Relaxed) == shape).then_some(len)
    }
}
