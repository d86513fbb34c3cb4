// SPDX-License-Identifier: GPL-2.0

//! A reader's position in a ring: its section, and pieces of its pages.

use kernel::blog::{
    ring::{
        Info,
        RingState,
        NO_PAGE, //
    },
    wire::{
        file as format,
        page::PageInfo,
        record::{
            Lost,
            LOST_CAUSES, //
        }, //
    }, //
};

use crate::{
    memory::Memory,
    read::{
        piece::{
            self,
            Piece, //
        },
        sections::Form, //
    },
    registry::state::Loose, //
};

/// How often a page is looked for that its writer keeps taking away.
const TRIES: u32 = 8;

pub(crate) struct RingWalk {
    /// [`Info::first_seq`] of its owner, and his thread id, as an owner who wrote nothing leaves
    /// the position to the next one; 0: nobody's.
    first_seq: u64,
    pid: i32,
    /// The page that was read last, its position, and its end at that time; [`NO_PAGE`]: none, and
    /// `seq` is the position before the oldest page that there was, about.
    page: u32,
    end: u32,
    seq: u64,
    /// The page after that one, where it was seen: then that one is complete.
    next: u32,
    /// What its section said, where it was written.
    shown: Option<Shown>,
    /// The record that comes next.
    pub(super) ordinal: u64,
    /// Whether records before the next piece are none that this reader has missed.
    history: bool,
    /// Records missed, of which pieces have told.
    lag: u64,
}

// There is one for each ring, in each open file.
const _: () = assert!(size_of::<RingWalk>() <= 160);

#[derive(Clone, Copy)]
struct Shown {
    retired: bool,
    lag: u64,
    records: u64,
    lost: [u64; LOST_CAUSES],
    told: u64,
}

/// A piece, and the page that it is from.
pub(super) struct Found {
    index: u32,
    seq: u64,
    next: u32,
    piece: Piece,
}

impl RingWalk {
    pub(super) const NONE: Self = Self {
        first_seq: 0,
        pid: 0,
        page: NO_PAGE,
        end: 0,
        seq: 0,
        next: NO_PAGE,
        shown: None,
        ordinal: 0,
        history: false,
        lag: 0,
    };

    /// Nothing of a ring was read yet; nobody's if there is nothing to read.
    pub(crate) fn of(info: &Info, history: bool) -> Self {
        if info.records == 0 && info.lost.iter().all(|n| *n == 0) {
            return Self::NONE;
        }
        Self {
            first_seq: info.first_seq,
            pid: info.owner.pid,
            seq: info.last_seq.saturating_sub(info.pages.into()),
            history,
            ..Self::NONE
        }
    }

    /// Whether the ring still has this owner.
    pub(super) fn is(&self, info: &Info) -> bool {
        (self.first_seq, self.pid) == (info.first_seq, info.owner.pid)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first_seq == 0
    }

    /// Adds what the file has already reported.
    pub(super) fn add_to(&self, sum: &mut Loose, form: Form) {
        let shown = self.shown.map(|shown| (shown.records, shown.lost));
        let (shown, lost) = shown.unwrap_or((0, [0; LOST_CAUSES]));
        let records = match form {
            Form::Snapshot => shown,
            Form::Stream => self.ordinal,
        };
        sum.add(records, &lost);
    }

    /// The ring's section, if it says anything that it didn't say before. `ids` are those of
    /// component and ring.
    pub(crate) fn section(
        &mut self,
        ids: (u32, u32),
        info: &Info,
        form: Form,
    ) -> Option<format::RingSection> {
        let retired = info.state == RingState::Retired;
        let told = info.told.iter().fold(0u64, |sum, n| sum.wrapping_add(*n));
        let same = |shown: Shown| {
            (shown.retired, shown.lag) == (retired, self.lag)
                && (shown.lost, shown.told) == (info.lost, told)
        };
        if self.shown.is_some_and(same) {
            return None;
        }
        let shown = Shown {
            retired,
            lag: self.lag,
            records: match form {
                Form::Snapshot => info.records,
                // Not what it has taken meanwhile: nobody knows whether that can still be read.
                Form::Stream => self.ordinal,
            },
            lost: info.lost,
            told,
        };
        self.shown = Some(shown);
        let mut section = format::RingSection {
            component: ids.0,
            ring: ids.1,
            context: info.owner.context as u8,
            retired: retired.into(),
            task_state: 0,
            reserved: 0,
            cpu: info.owner.cpu,
            pid: info.owner.pid,
            tgid: info.owner.tgid,
            comm: info.owner.comm,
            exit_clock: info.exit_clock,
            records: shown.records,
            lost: info.lost,
            told: info.told,
            pages: info.pages,
            reserved2: 0,
        };
        section.lost[Lost::ReaderLag as usize] = self.lag;
        section.told[Lost::ReaderLag as usize] = self.lag;
        Some(section)
    }

    /// Copies the next page with something new to `to`, and cuts what was read. Returns the length
    /// of the piece; `None`: there is none, or they were taken away too often.
    pub(super) fn find(
        &self,
        memory: &Memory,
        id: u32,
        form: Form,
        to: &mut [u8],
    ) -> Option<(usize, Found)> {
        let (read, mut at) = match (self.page, self.next) {
            (NO_PAGE, _) => ((0, 0), None),
            (page, NO_PAGE) => ((self.seq, self.end), Some((page, self.seq))),
            (_, next) => ((self.seq, self.end), Some((next, self.seq + 1))),
        };
        for _ in 0..TRIES {
            let (index, seq) = match at.take() {
                Some(at) => at,
                None => memory.oldest_page(id)?,
            };
            let copied = memory.copy(id, index, seq, to).is_some();
            let Some(page) = PageInfo::read(to).filter(|page| copied && page.ring == id) else {
                // Its writer has it back: go on with the oldest one there is.
                continue;
            };
            // The position is unique within a ring, but the ring may have gone to another task.
            if !self.is(&memory.info(id)?) {
                return None;
            }
            if (seq, page.end()) > read {
                let from = piece::From {
                    seq: read.0,
                    end: read.1,
                    next: (form == Form::Stream && !self.history).then_some(self.ordinal),
                };
                let piece = piece::cut(to, &from)?;
                let found = Found {
                    index,
                    seq,
                    next: page.next,
                    piece,
                };
                return Some((found.piece.len, found));
            }
            if page.next == NO_PAGE {
                return None;
            }
            at = Some((page.next, seq + 1));
        }
        None
    }

    /// Goes on after a piece. True: pages before it are missing that were there before.
    pub(super) fn take(&mut self, found: &Found, form: Form) -> bool {
        let missed = found.seq > self.seq + 1;
        self.page = found.index;
        self.seq = found.seq;
        self.end = found.piece.end;
        self.next = found.next;
        self.ordinal = found.piece.first.wrapping_add(found.piece.records);
        self.lag = self.lag.wrapping_add(found.piece.lag);
        self.history = false;
        missed && form == Form::Snapshot
    }
}
