// SPDX-License-Identifier: GPL-2.0

//! Writing a record: the fast path, and rings that several contexts share.

use super::super::{
    unaligned::store_unaligned,
    wire::record::{
        ControlRecord,
        Header,
        Lost,
        HEADER_SIZE,
        TASK_SIZE,
        TS_BITS, //
    }, //
};
use super::{
    page::{
        PageHeader,
        Pages, //
    },
    peek::Peek,
    turn::Mode,
    Owner,
    Ring, //
};
use core::{
    ops::Range,
    ptr,
    sync::atomic::{
        compiler_fence,
        AtomicU64,
        Ordering::*, //
    }, //
};

/// Where a record goes: what `write`'s slow path has found.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Place {
    /// A ring that is busy for the caller and has room for the record; null if there is none,
    /// and the loss has been counted.
    pub ring: *const Ring,
    /// The record's time.
    pub ts: u64,
}

impl Place {
    /// In place of a time, where no record has begun: it is a warning or an error.
    pub const WARNS: u64 = 1;

    /// There is none.
    pub const LOST: Self = Self {
        ring: ptr::null(),
        ts: 0,
    };
}

impl Ring {
    /// Writes one record: the fast path.
    ///
    /// `ring` is the ring of the calling context and of the component whose slot `slot` says; or
    /// any other one of that context, or one that is busy for good ([`Self::none`]), which are left
    /// alone. `bytes` is the size of the record with its header.
    /// `clock` reads the time, if it is one that is read here. `fill` is given the place of the
    /// arguments and stores exactly `bytes - 8` bytes there. It may also store to the 8 bytes
    /// before that, where the header comes afterwards.
    ///
    /// An error is that the record can't simply go after the last one: with the ring if the record
    /// has been begun (the ring is marked as busy), else with a null pointer; and with the time, or
    /// 0 where it wasn't read. The caller finds a place, and calls [`Self::put`].
    ///
    /// # Safety
    ///
    /// `ring` is valid, and of the context that the caller runs in or busy for good.
    #[inline(always)]
    pub unsafe fn write(
        ring: *const Ring,
        slot: impl FnOnce() -> u32,
        bytes: u32,
        site_shl10: u32,
        clock: impl FnOnce() -> Option<u64>,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), (*const Ring, u64)> {
        // SAFETY: By this function's requirement.
        let own = unsafe { &*ring };
        // SAFETY: Likewise.
        let (page, commit, ts) = unsafe { Self::enter(ring, slot, clock) }?;
        // `limit` and the end are below 2^31, and `bytes` below 2^11: no overflow.
        let end = commit.wrapping_add(u64::from(bytes)) & u64::from(u32::MAX);
        // SAFETY: This is the ring's context. It is loaded where it is compared, see `peek`.
        if end > unsafe { own.cursor.limit.peek() } {
            return Err((ring, ts));
        }
        // SAFETY: There is room up to `limit`, which is at most the size of the page.
        unsafe {
            let at = page.cast::<u8>().add(end as usize).sub(bytes as usize);
            fill(at.add(HEADER_SIZE));
            let header = Header::from_parts(ts, site_shl10, bytes);
            own.store((page, at), header.0, bytes as usize);
        }
        Ok(())
    }

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
        ring: *const Ring,
        slot: impl FnOnce() -> u32,
        site_shl10: u32,
        clock: impl FnOnce() -> Option<u64>,
        fill: impl FnOnce(*mut u8, Range<usize>) -> Option<usize>,
    ) -> bool {
        // SAFETY: By this function's requirement.
        unsafe {
            match Self::enter(ring, slot, clock) {
                Ok((page, commit, ts)) => {
                    let own = &*ring;
                    let limit = || own.cursor.limit.peek();
                    own.store_open((page, commit), limit, ts, site_shl10, fill)
                }
                Err((begun, _)) => {
                    if let Some(own) = begun.as_ref() {
                        own.end();
                    }
                    false
                }
            }
        }
    }

    /// Begins a record: marks the ring as busy, and returns its page, the word with the page's end,
    /// and the time; or an error of [`Self::write`].
    ///
    /// # Safety
    ///
    /// As for [`Self::write`].
    #[inline(always)]
    unsafe fn enter(
        ring: *const Ring,
        slot: impl FnOnce() -> u32,
        clock: impl FnOnce() -> Option<u64>,
    ) -> Result<(*mut PageHeader, u64, u64), (*const Ring, u64)> {
        // SAFETY: By this function's requirement.
        let own = unsafe { &*ring };
        // SAFETY: This is the ring's context, or the ring is busy for good.
        if !unsafe { own.begin_for(slot) } {
            return Err((ptr::null(), 0));
        }
        let ts = clock().ok_or((ring, 0))?;
        // Before there is more to keep in registers.
        // SAFETY: This is the ring's context.
        if (ts ^ unsafe { own.cursor.ts_base.peek() }) >> TS_BITS != 0 {
            return Err((ring, ts));
        }
        // SAFETY: This is the ring's context.
        let page = unsafe { own.cursor.page.peek() };
        // SAFETY: Likewise; and by the cursor's invariants, this is a valid header.
        Ok((page, unsafe { (*page).commit.peek() }, ts))
    }

    /// Writes one record where `place` says, after the last one; the other arguments are those of
    /// [`Self::write`]. False if there is no place.
    ///
    /// # Safety
    ///
    /// The ring of `place`, if it has one, is busy for this record, with room for `bytes` at that
    /// time: [`Ring::turn`] or [`Ring::begin_shared`] said so.
    #[inline(always)]
    pub unsafe fn put(
        place: Place,
        bytes: u32,
        site_shl10: u32,
        fill: impl FnOnce(*mut u8),
    ) -> bool {
        // SAFETY: By this function's requirement.
        let Some(ring) = (unsafe { place.ring.as_ref() }) else {
            return false;
        };
        let page = ring.cursor.page.load(Relaxed);
        // SAFETY: By the type invariants, `page` points to a valid header; and there is room.
        unsafe {
            let at = page
                .cast::<u8>()
                .add((*page).commit.load(Relaxed) as u32 as usize);
            fill(at.add(HEADER_SIZE));
            let header = Header::from_parts(place.ts, site_shl10, bytes);
            ring.store((page, at), header.0, bytes as usize);
        }
        true
    }

    /// Writes one record where `place` says, of which `fill` knows the size: see
    /// [`Self::write_open`]. False if there is a place, but no record.
    ///
    /// # Safety
    ///
    /// As for [`Self::put`], and `fill` as there.
    pub unsafe fn put_open(
        place: Place,
        site_shl10: u32,
        fill: impl FnOnce(*mut u8, Range<usize>) -> Option<usize>,
    ) -> bool {
        // SAFETY: By this function's requirement.
        let Some(ring) = (unsafe { place.ring.as_ref() }) else {
            return true;
        };
        let page = ring.cursor.page.load(Relaxed);
        // SAFETY: The ring is busy for this record, and `page` its page.
        unsafe {
            let commit = (*page).commit.load(Relaxed);
            let size = || (*page).size().into();
            ring.store_open((page, commit), size, place.ts, site_shl10, fill)
        }
    }

    /// Stores a record of which `fill` knows the size up to `limit`, and publishes it; false if
    /// there is none. Either way, the ring isn't busy any more.
    ///
    /// # Safety
    ///
    /// The ring is busy for this record, `page` is its page with this `commit`, and `limit` returns
    /// at most the page's size. `fill` stores no more than it may.
    #[inline(always)]
    unsafe fn store_open(
        &self,
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
        let size = fill(at.wrapping_add(HEADER_SIZE), room);
        // SAFETY: The ring is busy for this record. `fill` has stored what there is room for, up to
        // the limit.
        unsafe {
            match size {
                Some(size) => {
                    let bytes = HEADER_SIZE.wrapping_add(size);
                    self.store((page, at), header | size as u64, bytes);
                }
                None => self.end(),
            }
        }
        size.is_some()
    }

    /// Stores the header of a record whose arguments are there, and publishes it.
    ///
    /// # Safety
    ///
    /// The ring is busy for this record, `page` is its page, and the end of that is `at`, where
    /// there is room for `bytes`.
    #[inline(always)]
    unsafe fn store(&self, (page, at): (*mut PageHeader, *mut u8), header: u64, bytes: usize) {
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
            self.end();
        }
    }

    /// Begins a record of `bytes` bytes in a shared ring, for `who`; returns its time.
    ///
    /// `None` where somebody else is writing, or there is no room. Otherwise the ring is busy for
    /// the caller, and has room. A task record is written where `who` was not the last to write
    /// into this page, as `last` says, which belongs to the ring and is 0 at first. The other
    /// arguments are those of [`Self::turn`] and [`Self::write`].
    ///
    /// # Safety
    ///
    /// The ring is live and shared: all its writers come through here. `pages` is the pool of all
    /// pages of this ring.
    pub unsafe fn begin_shared(
        &self,
        pages: &impl Pages,
        mode: Mode,
        max: u32,
        bytes: u32,
        clock: impl FnOnce() -> u64,
        (who, last): (&Owner, &AtomicU64),
    ) -> Option<u64> {
        if !self.claim() {
            return None;
        }
        // Whatever the clock is, it may be a little slow beside that of the last writer's CPU.
        let ts = self.not_before_last(clock());
        let need = bytes.saturating_add(TASK_SIZE);
        let turns = !self.has_room(need, ts);
        // SAFETY: The ring is claimed; `pages` by this function's requirement.
        if turns && unsafe { self.turn(pages, mode, max, need, ts) }.is_err() {
            // SAFETY: It was claimed above.
            unsafe { self.end() };
            return None;
        }
        if turns || last.load(Relaxed) != who.key() {
            last.store(who.key(), Relaxed);
            // SAFETY: The ring is claimed, and there is room for this and for the record.
            unsafe { self.tell(who, ts) };
        }
        Some(ts)
    }

    /// Writes a task record: `who` writes from here on.
    ///
    /// # Safety
    ///
    /// The caller is the ring's writer and has marked it as busy. There is room for it.
    pub unsafe fn tell(&self, who: &Owner, ts: u64) {
        let task = ControlRecord::Task {
            context: who.context as u8,
            cpu: who.cpu as u16,
            pid: who.pid,
            tgid: who.tgid,
            comm: who.comm,
        };
        // SAFETY: By this function's requirement.
        unsafe { self.control(self.cursor.page.load(Relaxed), ts, &task) };
    }

    /// Its task is getting another name: the next record takes the slow path, and
    /// [tells](Self::tell). Anybody may, at any time.
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

    /// Counts lost records; the next record that gets through reports them.
    ///
    /// # Safety
    ///
    /// The caller runs in the ring's context, or has [claimed](Self::claim) it.
    pub unsafe fn count_lost(&self, cause: Lost, count: u64) {
        self.losses.count(cause, count);
        // ORDERING: `turn` reopens the cursor first and then looks at the losses, so it reports
        // this one, or finds the cursor closed again at its end, whichever interrupts the other.
        // Same CPU: compiler order is enough.
        compiler_fence(SeqCst);
        self.cursor.close();
    }

    /// Whether a record of `bytes` bytes at time `ts` can go after the last one without a
    /// [`turn`](Self::turn). For the ring's writer.
    #[inline]
    pub fn has_room(&self, bytes: u32, ts: u64) -> bool {
        self.cursor.has_room(bytes) && self.cursor.knows(ts)
    }
}
