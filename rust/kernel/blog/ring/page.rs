// SPDX-License-Identifier: GPL-2.0

//! A page in memory: its header, which readers and writers share, and the source of rings' pages.

use super::super::wire::{
    page::{
        PageInfo,
        PAGE_HEADER_SIZE,
        PAGE_MAGIC,
        SEQ_BITS,
        SEQ_MASK, //
    }, //
};
use core::{
    cell::UnsafeCell,
    ptr,
    sync::atomic::{
        fence,
        AtomicU32,
        AtomicU64,
        AtomicU8,
        Ordering::*, //
    }, //
};

/// Readers copy a page by words of this type, as most instructions of a read are this copy.
#[cfg(CONFIG_BLOG_HOOKS)]
type Word = AtomicU64;
/// The models store records by words of 4 bytes, and know no atomic of another size there.
#[cfg(not(CONFIG_BLOG_HOOKS))]
type Word = AtomicU32;

/// No page: the end of a chain.
pub const NO_PAGE: u32 = u32::MAX;

/// In a chain: the ring's own [room](super::Ring::room), which belongs to no pool.
pub const OWN_ROOM: u32 = NO_PAGE - 1;

/// Bytes of a ring's own room: what is left of a page that has rings and their rooms.
pub const ROOM: u32 = 312;

/// A ring's own page, where its records begin.
#[repr(C, align(8))]
pub(super) struct RingRoom {
    header: PageHeader,
    /// Records are stored through pointers.
    rest: UnsafeCell<[u8; ROOM as usize - PAGE_HEADER_SIZE]>,
}

// SAFETY: Its header is atomics. The ring's one writer stores the rest; readers copy that by
// volatile loads, and look at the sequence number once more.
unsafe impl Sync for RingRoom {}

impl RingRoom {
    /// `bytes` of it are used, with the header; 0: none.
    pub(super) const fn new(bytes: u32) -> Self {
        assert!(bytes <= ROOM);
        let mut header = PageHeader::empty();
        header.magic = AtomicU32::new(PAGE_MAGIC);
        header.size = AtomicU32::new(bytes);
        Self {
            header,
            rest: UnsafeCell::new([0; ROOM as usize - PAGE_HEADER_SIZE]),
        }
    }

    /// As a page.
    pub(super) fn page(&self) -> *mut PageHeader {
        // All of it may be stored to through a shared reference.
        ptr::from_ref(self).cast_mut().cast()
    }

    pub(super) fn header(&self) -> &PageHeader {
        &self.header
    }
}

/// The live header at the start of a page; [`PageInfo`] has its layout at rest and
/// says what the fields mean.
///
/// # Invariants
///
/// - While `seq` has a position, `base`, `first`, `ring` and `size` do not change, the bytes up to
///   `commit`'s end do not change, and `commit` only grows.
/// - `seq` has no position while the page is in no ring. Its upper bits grow with each life.
/// - Only the ring's writer, or who took the ring or the page from it, stores here.
#[repr(C, align(8))]
pub struct PageHeader {
    magic: AtomicU32,
    size: AtomicU32,
    ring: AtomicU32,
    pub(super) next: AtomicU32,
    seq: AtomicU64,
    base: AtomicU64,
    pub(super) first: AtomicU64,
    pub(super) commit: AtomicU64,
}

const _: () = assert!(size_of::<PageHeader>() == PAGE_HEADER_SIZE);
// What `wire/` reads and writes as bytes, rings store as numbers.
const _: () = assert!(cfg!(target_endian = "little"));

impl PageHeader {
    /// A header of a page without room, for rings that have no page yet: any record takes the
    /// slow path.
    pub const fn empty() -> Self {
        Self {
            magic: AtomicU32::new(0),
            size: AtomicU32::new(0),
            ring: AtomicU32::new(0),
            next: AtomicU32::new(NO_PAGE),
            seq: AtomicU64::new(0),
            base: AtomicU64::new(0),
            first: AtomicU64::new(0),
            commit: AtomicU64::new(0),
        }
    }

    /// Makes the memory of a page that is in no ring a page of `size` bytes.
    ///
    /// Readers may still be looking at it, as a page that it was before: they must find out.
    ///
    /// # Safety
    ///
    /// `page` must be valid for `size` bytes, initialised and aligned to 8. Nobody else stores
    /// there.
    pub unsafe fn format(page: *mut PageHeader, size: u32) {
        // SAFETY: The memory is large enough, initialised and aligned.
        let header = unsafe { &*page };
        header.magic.store(PAGE_MAGIC, Relaxed);
        header.size.store(size, Relaxed);
        header.ring.store(0, Relaxed);
        header.next.store(NO_PAGE, Relaxed);
        // Its lives go on being counted: it may come back while somebody copies it.
        header.withdraw();
        header.base.store(0, Relaxed);
        header.first.store(0, Relaxed);
        header.commit.store(0, Relaxed);
    }

    /// Size in bytes, this header included.
    #[inline]
    pub fn size(&self) -> u32 {
        self.size.load(Relaxed)
    }

    /// Id of the ring that holds the page, or last held it. Only meaningful with [`Self::seq`].
    pub fn ring(&self) -> u32 {
        self.ring.load(Relaxed)
    }

    /// Position of the page in its ring; 0 where it is in none.
    ///
    /// The load is an acquire one: it pairs with the release store at the end of a page turn, so
    /// that a reader that sees a position sees the header that belongs to it.
    #[inline]
    pub fn seq(&self) -> u64 {
        self.seq.load(Acquire) & SEQ_MASK
    }

    /// The published end of the page, in bytes from its start; for its writer.
    #[inline]
    pub(super) fn end(&self) -> u32 {
        self.commit.load(Relaxed) as u32
    }

    /// The rest of the page after that end.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.size().saturating_sub(self.end())
    }

    /// Copies the page, as far as it is published, to `to`, and returns the number of bytes; `None`
    /// where the page is not (or no longer) one of `size` bytes at position `seq` of a ring, or
    /// `to` is too small.
    ///
    /// The copy's header names the ring, and the next page: if there is one, the copy has all
    /// records that the page will ever have. A caller that goes by what it saw in
    /// the page before must look again there.
    ///
    /// # Safety
    ///
    /// `page` must be valid for `size` bytes, initialised, and stay mapped during the call.
    pub unsafe fn copy(
        page: *const PageHeader,
        size: u32,
        seq: u64,
        to: &mut [u8],
    ) -> Option<usize> {
        // SAFETY: There is memory of this size, of which a header is atomics only.
        let header = unsafe { &*page };
        // ORDERING: As in `seq`.
        let life = header.seq.load(Acquire);
        if seq == 0 || life & SEQ_MASK != seq {
            return None;
        }
        // ORDERING: Acquire pairs with the release store of the link, which comes after the page's
        // last record: where the link is seen, the end that is read below is the final one.
        let next = header.next.load(Acquire);
        // ORDERING: Acquire pairs with the release store that publishes records: all bytes below
        // the end that is read here are there.
        let commit = header.commit.load(Acquire);
        let len = commit as u32 as usize;
        if header.size() != size || len > size as usize {
            return None;
        }
        let (head, body) = to
            .get_mut(..len)?
            .split_first_chunk_mut::<PAGE_HEADER_SIZE>()?;
        let info = PageInfo {
            magic: header.magic.load(Relaxed),
            size,
            ring: header.ring.load(Relaxed),
            next,
            seq,
            base: header.base.load(Relaxed),
            first: header.first.load(Relaxed),
            commit,
        };
        *head = info.bytes();
        // SAFETY: The page is larger than its header.
        let mut from = unsafe { page.add(1) }.cast::<Word>();
        let mut words = body.chunks_exact_mut(size_of::<Word>());
        for word in &mut words {
            // SAFETY: The page has at least `len` bytes, and is aligned to 8. About the writer that
            // may take the page away meanwhile, see "Data race by design" above.
            let (copy, next) = unsafe { ((*from).load(Relaxed), from.add(1)) };
            word.copy_from_slice(&copy.to_ne_bytes());
            from = next;
        }
        // The last record may end in the middle of a word, and the next one be on its way there.
        let mut from = from.cast::<AtomicU8>();
        for byte in words.into_remainder() {
            // SAFETY: As above.
            (*byte, from) = unsafe { ((*from).load(Relaxed), from.add(1)) };
        }
        // ORDERING: The fence keeps the loads of the copy before the load of `seq`, and pairs with
        // the release fence in `reset`: if any of what was loaded is of the page's next life, then
        // `seq` reads as changed here.
        fence(Acquire);
        (header.seq.load(Relaxed) == life).then_some(len)
    }

    /// Reads position, `first` and `commit` as they belong together; `None` where the page is not
    /// in `ring`, or its life ends just now.
    pub(super) fn look(&self, ring: u32) -> Option<(u64, u64, u64)> {
        // ORDERING: As in `copy`.
        let life = self.seq.load(Acquire);
        let first = self.first.load(Relaxed);
        let commit = self.commit.load(Acquire);
        let ours = self.ring.load(Relaxed) == ring;
        fence(Acquire);
        // ORDERING: Acquire pairs with the store in `withdraw`: see `Ring::records`.
        let same = self.seq.load(Acquire) == life && life & SEQ_MASK != 0 && ours;
        same.then_some((life & SEQ_MASK, first, commit))
    }

    /// Makes the page, which is the caller's and in no ring, something else, for good: `fill`
    /// stores what follows the header. That has no position any more, so readers and thieves that
    /// have found the page before go away.
    pub fn turn_into(&self, magic: u32, first: u32, fill: impl FnOnce()) {
        // ORDERING: As in `reset`.
        fence(Release);
        fill();
        self.ring.store(first, Relaxed);
        // ORDERING: Release: who finds the magic finds what is there.
        self.magic.store(magic, Release);
    }

    /// Starts a new life of this page, which is in no ring, without publishing it.
    #[inline]
    pub(super) fn reset(&self, ring: u32, base: u64, first: u64) {
        // ORDERING: All stores into the page, from here on, come after the withdrawal for a reader
        // that fences between its copy and its second look at `seq`.
        fence(Release);
        self.ring.store(ring, Relaxed);
        self.next.store(NO_PAGE, Relaxed);
        self.base.store(base, Relaxed);
        self.first.store(first, Relaxed);
        self.commit.store(PAGE_HEADER_SIZE as u64, Relaxed);
    }

    /// Gives the page, which has been reset, its position: readers accept it from now on.
    #[inline]
    pub(super) fn publish(&self, seq: u64) {
        let lives = (self.seq.load(Relaxed) >> SEQ_BITS).wrapping_add(1);
        // INVARIANT: There is one more life than at the last time, so the word has not been there
        // before.
        // ORDERING: Release: a reader that acquires the new position sees the reset header.
        self.seq.store(lives << SEQ_BITS | seq & SEQ_MASK, Release);
    }

    /// Takes the page out of its ring's life: readers no longer accept it.
    #[inline]
    pub(super) fn withdraw(&self) {
        let lives = self.seq.load(Relaxed) & !SEQ_MASK;
        // ORDERING: Release: see `Ring::records`.
        self.seq.store(lives, Release);
    }
}

/// Where a ring gets pages. Implemented by the component's pool, and by tests.
///
/// # Safety
///
/// A page that [`Self::take`] hands out is the caller's alone, [formatted](PageHeader::format),
/// until it gives it back. [`Self::page`] of its index leads to it then. It is a valid header of
/// whatever index: that of a page, even of one that has become something else since a ring had it,
/// or an empty one. The memory stays for as long as a log call or a reader looks at it.
pub unsafe trait Pages {
    /// Takes a page out of the pool, for a ring that holds so many of its pages. Lock-free.
    fn take(&self, held: u32) -> Option<u32>;

    /// Gives a page to the pool. Lock-free.
    ///
    /// # Safety
    ///
    /// The page is the caller's: it got it from [`Self::take`], or from a ring that took it there.
    unsafe fn put(&self, index: u32);

    /// The page with this index.
    fn page(&self, index: u32) -> *mut PageHeader;

    /// Its header.
    #[inline]
    fn header(&self, index: u32) -> &PageHeader {
        // SAFETY: By the trait's requirement; a header is atomics only.
        unsafe { &*self.page(index) }
    }

    /// Whether records are counted by site when their page leaves its ring.
    fn counts(&self) -> bool {
        false
    }

    /// Counts `n` records of a site. Lock-free.
    fn count(&self, _site: u32, _n: u32) {}

    /// The size of a page in bytes.
    fn size(&self) -> u32;
}
