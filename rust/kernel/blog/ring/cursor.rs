// SPDX-License-Identifier: GPL-2.0

//! The place of a ring's next record: the current page, and the room in it.

use super::{
    super::wire::record,
    busy::Writing,
    page::PageHeader, //
};
use core::sync::atomic::{
    compiler_fence,
    AtomicPtr,
    AtomicU64,
    Ordering::*, //
};

/// A limit that no record keeps to, of a cursor that isn't closed.
const NO_ROOM: u64 = 1;

/// The current page of a ring.
///
/// # Invariants
///
/// - `page` points to a valid page header at all times: the ring's current page, or an empty one.
/// - `limit` is at most the size of that page, or [`NO_ROOM`]: if there is no page yet, while
///   the writer is in a [turn](Writing::turn), and after one that has found none. 0 means that
///   the cursor is closed: there may be something to do before the next record.
/// - `ts_base` has the upper bits of the times in the headers from here on.
/// - `seq` is the position of the current page, or of the last one that there was.
/// - `taken` is the number of records taken before the current page, once the ring is retired that
///   of all records.
/// - All of it is stored by the ring's writer while that is busy, or by who owns a ring that has
///   none; but anybody may store 0 to `limit`.
#[repr(C)]
pub(super) struct Cursor {
    /// As wide as a register: the fast path compares what it then adds to an address.
    pub(super) limit: AtomicU64,
    pub(super) ts_base: AtomicU64,
    pub(super) page: AtomicPtr<PageHeader>,
    /// The latest time that the ring has seen, where its clock may step back; of a retired ring,
    /// when its task ended.
    pub(super) last: AtomicU64,
    pub(super) seq: AtomicU64,
    pub(super) taken: AtomicU64,
}

impl Cursor {
    /// Without a page.
    ///
    /// # Safety
    ///
    /// `empty` is a valid header of no size, as long as this is used.
    pub(super) const unsafe fn new(empty: *mut PageHeader) -> Self {
        // INVARIANT: The empty header is a valid one, and its limit is 0.
        Self {
            limit: AtomicU64::new(0),
            ts_base: AtomicU64::new(0),
            page: AtomicPtr::new(empty),
            last: AtomicU64::new(0),
            seq: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    /// The current page's header, for the ring's writer.
    #[inline]
    pub(super) fn header(&self) -> &PageHeader {
        // SAFETY: By the type invariants, `page` points to a valid header, and the memory of pages
        // stays mapped as long as rings exist.
        unsafe { &*self.page.load(Relaxed) }
    }

    /// [`PageHeader::look`] at the current page, if it is one of ring `id`.
    pub(super) fn look(&self, id: u32) -> Option<(u64, u64, u64)> {
        // ORDERING: Acquire pairs with the store in `start_page`: the page's header is there.
        // SAFETY: By the type invariants, `page` points to a valid header.
        unsafe { &*self.page.load(Acquire) }.look(id)
    }

    /// Whether the header of a record at `ts` is enough to know its time, after the records before.
    #[inline]
    pub(super) fn knows(&self, ts: u64) -> bool {
        (ts ^ self.ts_base.load(Relaxed)) >> record::TS_BITS == 0
    }

    /// From here on, headers have times from `ts` on.
    #[inline]
    pub(super) fn set_base(&self, ts: u64) {
        self.ts_base.store(ts & !record::TS_MASK, Relaxed);
    }

    /// Has the next record take the slow path.
    #[inline]
    pub(super) fn close(&self) {
        // INVARIANT: 0 is no more than any size.
        self.limit.store(0, Relaxed);
    }

    /// Says that there is nothing to do before the next record but to find room for it. Returns
    /// whether there was, as the cursor was closed.
    #[inline]
    pub(super) fn reopen(&self) -> bool {
        // INVARIANT: That is allowed at any time.
        // ORDERING: One step, as this may be interrupted by who closes it. See `count_lost`.
        let was_closed = self.limit.swap(NO_ROOM, Relaxed) == 0;
        compiler_fence(SeqCst);
        was_closed
    }
}

impl Writing<'_> {
    /// Lets the fast path store up to the page's end, unless the cursor was closed after
    /// [`Cursor::reopen`].
    #[inline]
    pub(super) fn open(&self) {
        let cursor = &self.ring().cursor;
        let size = u64::from(cursor.header().size());
        // INVARIANT: That is the page's size; and as this is the writer, it stays the current one.
        // ORDERING: One step, as above.
        let _ = (cursor.limit).compare_exchange(NO_ROOM, size, Relaxed, Relaxed);
    }

    /// Whether a record of `bytes` bytes at time `ts` can go after the last one without a
    /// [`turn`](Self::turn).
    #[inline]
    pub fn has_room(&self, bytes: u32, ts: u64) -> bool {
        let cursor = &self.ring().cursor;
        let end = u64::from(cursor.header().end()) + u64::from(bytes);
        end <= cursor.limit.load(Relaxed) && cursor.knows(ts)
    }

    /// Returns `now`, or the latest time that this ring has seen where that is later.
    ///
    /// For clocks that may step back a little when they are read in an NMI or on another CPU.
    #[inline(always)]
    pub fn not_before_last(&self, now: u64) -> u64 {
        let last = &self.ring().cursor.last;
        let now = now.max(last.load(Relaxed));
        last.store(now, Relaxed);
        now
    }
}
