// SPDX-License-Identifier: GPL-2.0

//! A ring, as far as it was read: its section, and pieces of its pages.

use core::mem;
use kernel::{
    blog::{
        ring::{
            Info,
            State as RingState,
            NO_PAGE, //
        },
        wire::{
            page::PageInfo,
            record::{
                Lost,
                LOST_CAUSES, //
            }, //
        }, //
    },
    prelude::*, //
};

use crate::{
    memory::{
        pool::Store,
        Memory, //
    },
    read::{
        piece,
        sections::{
            ring_section,
            Sections, //
        },
        snapshot::info_of, //
    },
    registry::state::Loose, //
};

/// How often a page is looked for that its writer keeps taking away.
const TRIES: u32 = 8;
/// How many pages are gone through in search of one.
const HOPS: u32 = 1 << 16;

/// A ring, as far as it was read. All counts are those of the ring.
pub(super) struct Seen {
    /// [`Info::first_seq`] of its owner, and his thread id, as an owner who wrote nothing leaves
    /// the position to the next one; 0: nobody's.
    first_seq: u64,
    pid: i32,
    /// The page that was read last ([`NO_PAGE`]: unknown), its position, and its end at that time.
    page: u32,
    end: u32,
    seq: u64,
    /// The page behind that one, where it was seen.
    next: u32,
    /// What its section said, where it was written.
    section: Option<Told>,
    /// The record that comes next.
    ordinal: u64,
    /// Whether records before the first piece are none that this reader has missed.
    history: bool,
    /// Records missed, of which pieces have told.
    lag: u64,
    /// Its losses.
    lost: [u64; LOST_CAUSES],
}

/// What a ring's section said.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Told {
    retired: bool,
    lag: u64,
    /// Sum of [`Info::told`].
    told: u64,
}

impl Seen {
    pub(super) const NONE: Self = Self {
        first_seq: 0,
        pid: 0,
        page: NO_PAGE,
        end: 0,
        seq: 0,
        next: NO_PAGE,
        section: None,
        ordinal: 0,
        history: false,
        lag: 0,
        lost: [0; LOST_CAUSES],
    };

    /// Whether the ring still has this owner.
    fn is(&self, info: &Info) -> bool {
        (self.first_seq, self.pid) == (info.first_seq, info.owner.pid)
    }

    /// What the ring's section would say now.
    fn told(&self, info: &Info) -> Told {
        Told {
            retired: info.state == RingState::Retired,
            lag: self.lag,
            told: info.told.iter().fold(0, |sum, n| sum.wrapping_add(*n)),
        }
    }
}

/// Where the pass is in a ring.
#[derive(Clone, Copy, Default)]
pub(super) struct Turn {
    /// Records to read up to.
    goal: u64,
    /// The ring's section is written, if need be: before its pieces, and behind them.
    before: bool,
    behind: bool,
    /// There is nothing more to read.
    read: bool,
}

/// A ring, for a moment.
pub(super) struct At<'a> {
    pub(super) component: u32,
    pub(super) ring: u32,
    pub(super) memory: &'a Memory,
    pub(super) history: bool,
}

impl At<'_> {
    /// Writes one section. False: there is nothing to write for this ring in this pass.
    pub(super) fn step(
        &self,
        seen: &mut Seen,
        turn: &mut Option<Turn>,
        told: &mut Loose,
        free: &mut Loose,
        out: &mut Sections,
    ) -> Result<bool> {
        let Some(info) = info_of(self.memory, self.ring) else {
            // Free, or changing hands just now. What was read of it is with the counts of those
            // that are gone.
            if seen.first_seq != 0 {
                free.add(seen.ordinal, &seen.lost);
            }
            return Ok(false);
        };
        if !seen.is(&info) {
            if seen.first_seq != 0 {
                told.add(seen.ordinal, &seen.lost);
            }
            *seen = Seen::NONE;
            if info.records == 0 && info.lost.iter().all(|n| *n == 0) {
                return Ok(false);
            }
            (seen.first_seq, seen.pid) = (info.first_seq, info.owner.pid);
            seen.history = self.history;
        }
        let turn = turn.get_or_insert_with(|| Turn {
            goal: info.records,
            ..Turn::default()
        });
        if !mem::replace(&mut turn.before, true) && self.section(seen, &info, out)? {
            return Ok(true);
        }
        if !turn.read {
            if seen.ordinal < turn.goal && self.piece(seen, out)? {
                return Ok(true);
            }
            turn.read = true;
        }
        Ok(!mem::replace(&mut turn.behind, true) && self.section(seen, &info, out)?)
    }

    /// Writes the ring's section, if it says anything that it didn't say before.
    fn section(&self, seen: &mut Seen, info: &Info, out: &mut Sections) -> Result<bool> {
        let told = seen.told(info);
        if seen.section == Some(told) && seen.lost == info.lost {
            return Ok(false);
        }
        let mut section = ring_section(self.component, self.ring, info);
        // Not what it has taken meanwhile: nobody knows whether that can still be read.
        section.records = seen.ordinal;
        section.lost[Lost::ReaderLag as usize] = seen.lag;
        section.told[Lost::ReaderLag as usize] = seen.lag;
        out.ring(&section)?;
        seen.section = Some(told);
        seen.lost = info.lost;
        Ok(true)
    }

    /// Writes the next piece of the ring. False: it has nothing new, or it turned away too often.
    fn piece(&self, seen: &mut Seen, out: &mut Sections) -> Result<bool> {
        let found = out.page(self.component, self.ring, |to| {
            let found = self.find(seen, to)?;
            Some((found.piece.len, found))
        })?;
        let Some(found) = found else {
            return Ok(false);
        };
        seen.page = found.index;
        seen.seq = found.seq;
        seen.end = found.piece.end;
        seen.next = found.next;
        seen.ordinal = found.piece.first.wrapping_add(found.piece.records);
        seen.lag = seen.lag.wrapping_add(found.piece.lag);
        seen.history = false;
        Ok(true)
    }

    /// Copies the next page with something new, and cuts what was read. `None`: there is none, or
    /// they were taken away too often.
    fn find(&self, seen: &Seen, to: &mut [u8]) -> Option<Found> {
        let (memory, id) = (self.memory, self.ring);
        let ring = memory.store.ring(id)?;
        // Index and position, where they are known.
        let mut at = self.known(seen);
        let mut tries = TRIES;
        // The page without news whose link was seen before its end was.
        let mut complete = 0;
        for _ in 0..HOPS {
            let (index, seq) = match at {
                Some(at) => at,
                None => {
                    tries = tries.checked_sub(1)?;
                    let index = ring.oldest_page()?;
                    // SAFETY: A header stays until who has found it sleeps.
                    (index, unsafe { &*memory.page(index) }.seq())
                }
            };
            let copied = memory.copy(index, seq, to).is_some();
            let Some(page) = PageInfo::read(to).filter(|page| copied && page.ring == id) else {
                // Its writer has it back: go on with what there is.
                at = None;
                continue;
            };
            // The position is unique within a ring, but the ring may have gone to another task.
            if !seen.is(&info_of(memory, id)?) {
                return None;
            }
            let next = page.next;
            if (seq, page.end()) > (seen.seq, seen.end) {
                let from = piece::From {
                    seq: seen.seq,
                    end: seen.end,
                    next: (!seen.history).then_some(seen.ordinal),
                };
                let piece = piece::cut(to, &from)?;
                return Some(Found {
                    index,
                    seq,
                    next,
                    piece,
                });
            }
            if next == NO_PAGE {
                return None;
            }
            // The writer went on. It may have written to this page after its end was read, but not
            // after its link was.
            at = if seq < seen.seq || complete == seq {
                Some((next, seq + 1))
            } else {
                complete = seq;
                Some((index, seq))
            };
        }
        None
    }

    /// Where the next page is, as far as that is known.
    fn known(&self, seen: &Seen) -> Option<(u32, u64)> {
        if seen.page == NO_PAGE {
            return None;
        }
        if seen.next == NO_PAGE {
            return Some((seen.page, seen.seq));
        }
        // The link was there when the page was copied, so its end is the last one by now. That the
        // page is gone does no harm: then so is what was not read of it.
        // SAFETY: A header stays until who has found it sleeps.
        let page = unsafe { &*self.memory.page(seen.page) };
        let more = page.seq() == seen.seq
            && page.first().wrapping_add(page.records().into()) != seen.ordinal;
        Some(match more {
            true => (seen.page, seen.seq),
            false => (seen.next, seen.seq + 1),
        })
    }
}

/// A piece, and the page that it is from.
struct Found {
    index: u32,
    seq: u64,
    next: u32,
    piece: piece::Piece,
}
