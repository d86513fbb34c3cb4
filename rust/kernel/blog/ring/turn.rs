// SPDX-License-Identifier: GPL-2.0

//! Turning the page: the slow path of a writer, which makes room and reports losses.

use super::super::wire::{
    page::PAGE_HEADER_SIZE,
    record::{
        ControlRecord,
        Lost,
        CONTROL_SIZE,
        LOST_CAUSES, //
    }, //
};
use super::{
    busy::Writing,
    page::{
        PageHeader,
        Pages,
        OWN_ROOM, //
    }, //
};
use core::{
    ptr,
    sync::atomic::Ordering::*, //
};

/// What a full ring does: [`Writing::turn`](super::Writing::turn).
///
/// # Examples
///
/// ```
/// use kernel::blog::{Config, Mode};
///
/// // The first records matter most.
/// const BOOT: Config = Config::new().mode(Mode::Discard);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// It overwrites its oldest page (flight recorder).
    Overwrite = 0,
    /// It keeps what it has, and counts what comes.
    Discard = 1,
}

/// A page that a ring's writer has taken: its index, and where it is.
///
/// # Invariants
///
/// The page is of the ring's pool, or its own room; in no ring, and the writer's.
pub(super) struct NewPage {
    pub(super) index: u32,
    pub(super) at: *mut PageHeader,
}

impl Writing<'_> {
    /// Makes room for a record of `bytes` bytes at time `ts`: the slow path of
    /// [`Ring::write`](super::Ring::write).
    ///
    /// Writes the time-extend and lost records that are due, and takes another page when the
    /// current one has no room: its own room at first, then from `pages` while the ring holds less
    /// than `most` pages, else its own oldest one where `mode` allows. A ring that holds more, as
    /// the limit was lowered, gives pages back.
    ///
    /// On an error, the record is not counted as lost yet: it may go elsewhere.
    ///
    /// # Safety
    ///
    /// `pages` is the pool of all pages of this ring.
    pub unsafe fn turn(
        &self,
        pages: &impl Pages,
        mode: Mode,
        most: u32,
        bytes: u32,
        ts: u64,
    ) -> Result<(), Lost> {
        let ring = self.ring();
        let cursor = &ring.cursor;
        let extend = !cursor.knows(ts);
        // What is lost from here on is reported at the next turn.
        let has_lost = cursor.reopen();
        let causes = if has_lost {
            ring.losses.unreported()
        } else {
            0
        };
        let unreported = bytes.saturating_add(causes * CONTROL_SIZE);
        let room = cursor.header().room();

        if room < unreported.saturating_add(u32::from(extend) * CONTROL_SIZE) {
            let last = cursor.header();
            // Without a page, it is there already.
            if last.seq() != 0 {
                let records = last.commit.load(Relaxed) >> 32;
                let taken = last.first.load(Relaxed).wrapping_add(records);
                cursor.taken.store(taken, Relaxed);
            }
            let room = unreported.saturating_add(PAGE_HEADER_SIZE as u32);
            // SAFETY: By this function's requirement.
            let page = unsafe { self.next_page(pages, mode, most, bytes, room) };
            let page = page.inspect_err(|_| {
                if has_lost {
                    cursor.close();
                }
            })?;
            self.start_page(page, ts);
        } else {
            if extend {
                self.control(ts, &ControlRecord::TimeExtend(ts));
            }
            cursor.set_base(ts);
        }

        if causes != 0 {
            ring.losses.report(|cause, count| {
                // There is room for all that were unreported at the start. A cause that only a
                // nested writer counted since then may need more: it waits.
                let lost = ControlRecord::Lost {
                    cause: cause as u8,
                    count,
                };
                cursor.header().room() >= CONTROL_SIZE + bytes && self.control(ts, &lost)
            });
        }
        self.open();
        Ok(())
    }

    /// Writes a control record, which doesn't count as a record; false if there is no room.
    pub(super) fn control(&self, ts: u64, record: &ControlRecord) -> bool {
        let (source, bytes) = (record.bytes(ts), record.size() as u32);
        let (page, header) = (self.page(), self.ring().cursor.header());
        if header.room() < bytes {
            return false;
        }
        let commit = header.commit.load(Relaxed);
        // SAFETY: The page is this ring's current one, and has room.
        unsafe {
            let at = page.cast::<u8>().add(commit as u32 as usize);
            ptr::copy_nonoverlapping(source.as_ptr(), at, record.size());
        }
        // ORDERING: As for any record.
        let end = commit.wrapping_add(bytes.into());
        header.commit.store(end, Release);
        true
    }

    /// Finds a page of at least `room` that comes next, for a record of `bytes`, without changing
    /// the chain but for its oldest end. The ring may hold `most` pages with it.
    ///
    /// # Safety
    ///
    /// As for [`Self::turn`].
    unsafe fn next_page(
        &self,
        pages: &impl Pages,
        mode: Mode,
        most: u32,
        bytes: u32,
        room: u32,
    ) -> Result<NewPage, Lost> {
        // What an empty page must hold, whatever is due.
        let least =
            bytes.saturating_add(LOST_CAUSES as u32 * CONTROL_SIZE + PAGE_HEADER_SIZE as u32);
        if least > pages.size() {
            return Err(Lost::TooLong);
        }
        let ring = self.ring();
        if ring.is_empty() && ring.has_room(room) {
            // INVARIANT: By that of the chain, it is in none.
            let (index, at) = (OWN_ROOM, ring.page(pages, OWN_ROOM));
            return Ok(NewPage { index, at });
        }
        // Each ring may have one page.
        let (held, most) = (ring.pages(), most.max(1));
        if held < most {
            if let Some(index) = pages.take(held) {
                let at = pages.page(index);
                // INVARIANT: The pool has just given it to this writer.
                return Ok(NewPage { index, at });
            }
        }
        match mode {
            Mode::Overwrite => {
                // SAFETY: By this function's requirement.
                unsafe { self.reuse(pages, most, room) }.ok_or(Lost::NoPage)
            }
            Mode::Discard if held >= most => Err(Lost::Full),
            Mode::Discard => Err(Lost::NoPage),
        }
    }

    /// Makes a page the current one, empty, starting at time `ts`.
    fn start_page(&self, page: NewPage, ts: u64) {
        let ring = self.ring();
        let cursor = &ring.cursor;
        // SAFETY: By the type invariants of `NewPage`, it is a page.
        let header = unsafe { &*page.at };
        let seq = cursor.seq.load(Relaxed) + 1;
        header.reset(ring.id(), ts, cursor.taken.load(Relaxed));
        if page.index != OWN_ROOM {
            // Counted before it can be taken: so the count doesn't fall below zero.
            ring.chain.pages.fetch_add(1, Relaxed);
        }
        cursor.seq.store(seq, Relaxed);
        cursor.set_base(ts);
        header.publish(seq);
        // INVARIANT: The page is now the newest of the chain, and the cursor's. It is valid as long
        // as rings exist, and has no limit: `turn` ends with opening the cursor.
        self.push(&page);
        // ORDERING: Release: a reader of the ring that finds the page finds it whole.
        cursor.page.store(page.at, Release);
    }
}
