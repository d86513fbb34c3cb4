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
        record::LOST_CAUSES, //
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
    /// What its section said, where it was written: whether its owner had ended, how many it had
    /// lost, and how many of these its records reported.
    shown: Option<(bool, u64, u64)>,
    /// The records of which its section said that it had taken them.
    taken: u64,
    /// The record that comes next.
    pub(super) ordinal: u64,
    /// Whether records before the next piece are none that this reader has missed.
    history: bool,
}

// There is one for each ring, in each open file.
const _: () = assert!(size_of::<RingWalk>() <= 96);

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
        taken: 0,
        ordinal: 0,
        history: false,
    };

    /// Nothing of a ring was read yet; nobody's if there is nothing to read.
    pub(crate) fn of(info: &Info, history: bool) -> Self {
        if info.records == 0 && info.lost.iter().all(|n| *n == 0) {
            return Self::NONE;
        }
        Self {
            first_seq: info.first_seq,
            pid: info.owner.pid,
            seq: info.last_seq.saturating_sub(info.all_pages().into()),
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

    /// Says that the owner has this ring no more. `ids` are those of component and ring.
    pub(super) fn released(&self, ids: (u32, u32)) -> format::Released {
        format::Released {
            component: ids.0,
            ring: ids.1,
            records: self.taken.max(self.ordinal),
        }
    }

    /// The ring's section, if it says anything that it didn't say before.
    pub(crate) fn section(
        &mut self,
        ids: (u32, u32),
        info: &Info,
        form: Form,
    ) -> Option<format::RingSection> {
        let retired = info.state == RingState::Retired;
        let sum = |all: [u64; LOST_CAUSES]| all.iter().fold(0u64, |sum, n| sum.wrapping_add(*n));
        // Counts only grow.
        let new = Some((retired, sum(info.lost), sum(info.reported)));
        if self.shown == new {
            return None;
        }
        self.shown = new;
        self.taken = match form {
            Form::Snapshot => info.records,
            // Not what it has taken meanwhile: nobody knows whether that can still be read.
            Form::Stream => self.ordinal,
        };
        Some(format::RingSection {
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
            records: self.taken,
            lost: info.lost,
            told: info.reported,
            pages: info.all_pages(),
            reserved2: 0,
        })
    }

    /// Copies the next page with something new to `to`, and cuts what was read. Returns the length
    /// of the piece, and the record that the file should have next; `None`: there is none, or they
    /// were taken away too often.
    pub(super) fn find(
        &self,
        memory: &Memory,
        id: u32,
        to: &mut [u8],
    ) -> Option<(usize, u64, Found)> {
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
                let piece = piece::rest_after(to, read)?;
                let next = match self.history {
                    true => piece.first,
                    false => self.ordinal,
                };
                let found = Found {
                    index,
                    seq,
                    next: page.next,
                    piece,
                };
                return Some((found.piece.len, next, found));
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
        self.history = false;
        missed && form == Form::Snapshot
    }
}
