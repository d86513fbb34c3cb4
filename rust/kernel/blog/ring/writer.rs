// SPDX-License-Identifier: GPL-2.0

//! Writing a record: the fast path, and rings that several contexts share.

use super::super::{
    unaligned::store_unaligned,
    wire::record::{
        self,
        Header,
        HEADER_SIZE, //
    }, //
};
use super::{
    busy::Writing,
    page::{
        PageHeader,
        Pages, //
    },
    peek::Peek,
    turn::Mode,
    Owner,
    Ring, //
};
use core::sync::atomic::{
    compiler_fence,
    AtomicU64,
    Ordering::*, //
};

/// Where a record goes, or what has been done for that.
#[repr(C)]
pub struct Reservation<'a> {
    /// The ring, in which the record has begun; `None` where it hasn't.
    pub writing: Option<Writing<'a>>,
    /// The record's time; 0 where it wasn't read.
    pub ts: u64,
}

impl<'a> Reservation<'a> {
    /// There is none.
    pub const NONE: Self = Self {
        writing: None,
        ts: 0,
    };

    /// In place of a time, where no record has begun: it is a warning or an error.
    pub const WARNS: u64 = 1;

    /// Of a record that has begun.
    #[inline(always)]
    fn begun(writing: Writing<'a>, ts: u64) -> Self {
        Self {
            writing: Some(writing),
            ts,
        }
    }
}

impl Ring {
    /// Writes one record: the fast path.
    ///
    /// The ring is that of the calling context and of the component whose slot `slot` says; or
    /// any other one of that context, or one that is busy for good ([`Self::none`]), which are left
    /// alone. `bytes` is the size of the record with its header.
    /// `clock` says the time, if it is one that is read here; no record of the ring is later.
    /// `fill` is given the place of the arguments and stores exactly `bytes - 8` bytes there. It
    /// may also store to the 8 bytes before that, where the header comes afterwards.
    ///
    /// An error is that the record can't simply go after the last one, with what has been done for
    /// it. The caller finds a place, and calls [`Reservation::put`].
    ///
    /// # Safety
    ///
    /// As for [`Self::begin`], and `fill` does as it says above.
    #[inline(always)]
    pub unsafe fn write(
        &self,
        slot: impl FnOnce() -> u32,
        bytes: u32,
        site_shl10: u32,
        clock: impl FnOnce(&Writing<'_>) -> Option<u64>,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), Reservation<'_>> {
        // SAFETY: By this function's requirement.
        let (writing, page, commit, ts) = unsafe { self.enter(slot, clock) }?;
        // `limit` and the end are below 2^31, and `bytes` below 2^11: no overflow.
        let end = commit.wrapping_add(u64::from(bytes)) & u64::from(u32::MAX);
        // It is loaded where it is compared.
        if end > self.cursor.limit.peek() {
            return Err(Reservation::begun(writing, ts));
        }
        // SAFETY: There is room up to `limit`, which is at most the size of the page.
        unsafe {
            let at = page.cast::<u8>().add(end as usize).sub(bytes as usize);
            fill(at.add(HEADER_SIZE));
            let header = Header::from_parts(ts, site_shl10, bytes);
            writing.store((page, at), header.0, bytes as usize);
        }
        Ok(())
    }

    /// Begins a record, and returns the ring's page, the word with the page's end, and the time; or
    /// an error of [`Self::write`].
    ///
    /// # Safety
    ///
    /// As for [`Self::begin`].
    #[inline(always)]
    pub(super) unsafe fn enter(
        &self,
        slot: impl FnOnce() -> u32,
        clock: impl FnOnce(&Writing<'_>) -> Option<u64>,
    ) -> Result<(Writing<'_>, *mut PageHeader, u64, u64), Reservation<'_>> {
        // SAFETY: By this function's requirement.
        let writing = unsafe { self.begin(slot) }.ok_or(Reservation::NONE)?;
        let Some(ts) = clock(&writing) else {
            return Err(Reservation::begun(writing, 0));
        };
        // Before there is more to keep in registers.
        if (ts ^ self.cursor.ts_base.peek()) >> record::TS_BITS != 0 {
            return Err(Reservation::begun(writing, ts));
        }
        let page = self.cursor.page.peek();
        // SAFETY: By the cursor's invariants, this is a valid header.
        Ok((writing, page, unsafe { (*page).commit.peek() }, ts))
    }
}

impl Reservation<'_> {
    /// Writes one record there, after the last one; the arguments are those of [`Ring::write`].
    /// False if there is no place.
    ///
    /// # Safety
    ///
    /// The ring, if there is one, has room for `bytes` at that time: [`Writing::turn`] or
    /// [`Ring::begin_shared`] said so. `fill` is as for [`Ring::write`].
    #[inline(always)]
    pub unsafe fn put(self, bytes: u32, site_shl10: u32, fill: impl FnOnce(*mut u8)) -> bool {
        let Some(writing) = self.writing else {
            return false;
        };
        let page = writing.page();
        // SAFETY: By the cursor's invariants, `page` points to a valid header; and there is room.
        unsafe {
            let end = (*page).end() as usize;
            let at = page.cast::<u8>().add(end);
            fill(at.add(HEADER_SIZE));
            let header = Header::from_parts(self.ts, site_shl10, bytes);
            writing.store((page, at), header.0, bytes as usize);
        }
        true
    }
}

impl Writing<'_> {
    /// The ring's current page, or an empty one.
    #[inline]
    pub(super) fn page(&self) -> *mut PageHeader {
        self.ring().cursor.page.load(Relaxed)
    }

    /// Stores the header of a record whose arguments are there, and publishes it.
    ///
    /// # Safety
    ///
    /// `page` is the ring's page, and the end of that is `at`, where there is room for `bytes`.
    #[inline(always)]
    pub(super) unsafe fn store(
        self,
        (page, at): (*mut PageHeader, *mut u8),
        header: u64,
        bytes: usize,
    ) {
        // SAFETY: There is room by this function's requirement. What is stored to isn't published,
        // so nobody reads it, and this is the only writer.
        unsafe {
            store_unaligned(at, header);
            // ORDERING: Release: a reader that acquires this end sees the record whole. Relaxed:
            // nobody else stores to it. Together they are one instruction that adds.
            let commit = (*page).commit.load(Relaxed);
            (*page)
                .commit
                .store(commit.wrapping_add(bytes as u64 | 1 << 32), Release);
        }
    }

    /// Writes a task record, if there is room for it: `who` writes from here on.
    pub fn write_task(&self, who: &Owner, ts: u64) {
        let task = record::ControlRecord::Task {
            context: who.context as u8,
            cpu: who.cpu as u16,
            pid: who.pid,
            tgid: who.tgid,
            comm: who.comm,
        };
        self.control(ts, &task);
    }
}

impl Ring {
    /// Begins a record of `bytes` bytes in a shared ring, for `who`. `None` where another writer
    /// has begun one, or there is no room.
    ///
    /// A task record is written where `who` was not the last to write into this page, as `last`
    /// says, which belongs to the ring and is 0 at first. The other arguments are those of
    /// [`Writing::turn`] and [`Self::write`].
    ///
    /// # Safety
    ///
    /// The ring is live; all its writers come through here. `pages` is the pool of all pages of
    /// this ring.
    pub unsafe fn begin_shared(
        &self,
        pages: &impl Pages,
        mode: Mode,
        most: u32,
        bytes: u32,
        clock: impl FnOnce() -> u64,
        (who, last): (&Owner, &AtomicU64),
    ) -> Option<Reservation<'_>> {
        // SAFETY: By this function's requirement.
        let writing = unsafe { self.claim() }?;
        // Whatever the clock is, it may be a little slow beside that of the last writer's CPU.
        let ts = writing.not_before_last(clock());
        let need = bytes.saturating_add(record::TASK_SIZE);
        let turns = !writing.has_room(need, ts);
        if turns {
            // SAFETY: By this function's requirement.
            unsafe { writing.turn(pages, mode, most, need, ts) }.ok()?;
        }
        if turns || last.load(Relaxed) != who.key() {
            last.store(who.key(), Relaxed);
            writing.write_task(who, ts);
        }
        Some(Reservation::begun(writing, ts))
    }

    /// Its task is getting another name: the next record takes the slow path, and
    /// [says so](Writing::write_task). Anybody may, at any time.
    pub fn rename(&self) {
        // ORDERING: Relaxed: who finds the cursor closed, but not this yet, finds it when it turns
        // to its next page.
        self.renamed.store(1, Relaxed);
        self.cursor.close();
    }

    /// Whether its task has, or may have, another name or another id than when it got the ring.
    #[inline]
    pub fn is_renamed(&self) -> bool {
        self.renamed.load(Relaxed) != 0
    }

    /// Counts lost records. The next record that gets through reports them if the caller runs in
    /// the ring's context or has [claimed](Self::claim) it, else perhaps a later one.
    pub fn count_lost(&self, cause: record::Lost, count: u64) {
        self.losses.count(cause, count);
        // ORDERING: `turn` reopens the cursor first and then looks at the losses, so it reports
        // this one, or finds the cursor closed again at its end, whichever interrupts the other.
        // Same CPU: compiler order is enough.
        compiler_fence(SeqCst);
        self.cursor.close();
    }
}
