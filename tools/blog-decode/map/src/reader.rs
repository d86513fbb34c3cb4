// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Reading on, in all rings.

use std::collections::{BTreeMap, HashMap};

pub use crate::memory::Owner;
use crate::{
    cut::trim_read,
    memory::{Memory, Meta, Part},
    Error,
};

/// How often a page is copied again that changes meanwhile.
const TRIES: u32 = 8;

/// Records of a ring that are new.
#[derive(Debug)]
pub struct Piece<'a> {
    /// Id of the ring within its component.
    pub ring: u32,
    /// The owner of the ring, whose records these are.
    pub owner: &'a Owner,
    /// Number of the first record in the ring, since that has its owner.
    pub first: u64,
    /// How many there are.
    pub records: u64,
    /// How many were overwritten since the pass before, and are missing before these. A lost record
    /// in `page` has that number, too.
    pub missed: u64,
    /// A page, with its header, as in a Page section of a stream.
    pub page: &'a [u8],
}

/// How far a ring was read.
struct Position {
    owner: Owner,
    seq: u64,
    end: u32,
    /// The record that comes next; `None`: what is missing was overwritten before the first pass.
    next: Option<u64>,
}

/// Pages, by ring and position.
type Found = BTreeMap<(u32, u64), (Part, u32)>;

/// A reader's position in all rings of a component.
pub struct Reader {
    meta: Meta,
    /// By id.
    rings: HashMap<u32, Position>,
    /// Where rings are, by the id of the first one of a page.
    homes: HashMap<u32, usize>,
    /// Whether they were looked for in this pass.
    looked: bool,
    /// Whether the first pass is over.
    passed: bool,
    page: Vec<u8>,
}

impl Reader {
    /// Starts with the oldest records that there are.
    pub fn new(memory: Memory<'_>) -> Result<Self, Error> {
        Ok(Self {
            meta: Meta::read(memory)?,
            rings: HashMap::new(),
            homes: HashMap::new(),
            looked: false,
            passed: false,
            page: Vec::new(),
        })
    }

    /// Goes on with another mapping of the same memory, after [`Error::Changed`].
    pub fn go_on(&mut self, memory: Memory<'_>) -> Result<(), Error> {
        self.meta = Meta::read(memory)?;
        self.homes.clear();
        Ok(())
    }

    /// Calls `take` with what came since the last pass, ring by ring, in the order of each. On an
    /// error, what it has got so far is good.
    ///
    /// Records of a task that ended, and whose ring another one has got, are in no piece if they
    /// were not read before. The component's file `stats` counts all records.
    pub fn pass(
        &mut self,
        memory: Memory<'_>,
        mut take: impl FnMut(Piece<'_>),
    ) -> Result<(), Error> {
        self.meta.check(memory)?;
        self.looked = false;
        let mut found = self.scan(memory);
        if self.has_hole(&found) {
            // A page may have come to a place that the scan had passed already.
            let mut last: HashMap<u32, u64> = HashMap::new();
            found.keys().for_each(|&(ring, seq)| {
                last.insert(ring, seq);
            });
            let again = self.scan(memory);
            let was = |(ring, seq): &(u32, u64)| last.get(ring).is_some_and(|last| seq <= last);
            found.extend(again.into_iter().filter(|(key, _)| was(key)));
        }
        for ((ring, seq), (part, _)) in found {
            self.piece(memory, ring, seq, part, &mut take)?;
        }
        self.passed = true;
        self.meta.check(memory)
    }

    /// Finds pages that may have something new, and the one before them in each ring.
    fn scan(&mut self, m: Memory<'_>) -> Found {
        let mut found = Found::new();
        for place in self.meta.places(m) {
            for part in self.meta.parts(m, place) {
                let Some((ring, seq, end)) = part.look(m) else {
                    continue;
                };
                if self.rings.get(&ring).is_none_or(|known| seq >= known.seq) {
                    found.insert((ring, seq), (part, end));
                }
            }
        }
        // Where the page that was read last is still the newest one, and as it was, there is nothing.
        for (&ring, known) in &self.rings {
            let newer = found.range((ring, known.seq + 1)..=(ring, u64::MAX)).next();
            let same = |(_, end): &(Part, u32)| *end == known.end;
            if newer.is_none() && found.get(&(ring, known.seq)).is_some_and(same) {
                found.remove(&(ring, known.seq));
            }
        }
        found
    }

    /// Whether positions are missing in a ring, after the one that was read last.
    fn has_hole(&self, found: &Found) -> bool {
        let mut before = None;
        found.keys().any(|&(ring, seq)| {
            let known = || self.rings.get(&ring).map(|known| known.seq);
            let last = match before {
                Some((r, seq)) if r == ring => Some(seq),
                _ => known(),
            };
            before = Some((ring, seq));
            last.is_some_and(|last| seq > last + 1)
        })
    }

    /// Takes what is new of a page.
    fn piece(
        &mut self,
        m: Memory<'_>,
        ring: u32,
        seq: u64,
        part: Part,
        take: &mut impl FnMut(Piece<'_>),
    ) -> Result<(), Error> {
        let Some(home) = self.home(m, ring) else {
            return Ok(());
        };
        let owner = |this: &Self| this.meta.owner(m, home, ring);
        let Some(before) = owner(self) else {
            return Ok(());
        };
        let mut page = std::mem::take(&mut self.page);
        let info = (0..TRIES).find_map(|_| part.copy(m, seq, &mut page));
        // The position is unique within a ring, but that may have gone to another task.
        let now = owner(self).filter(|now| now.is(&before) && seq >= now.first_seq);
        // What is done to pages that go is done after this.
        let gone = matches!(self.meta.check(m), Err(Error::Gone));
        let (false, Some(info), Some(now)) = (gone, info.filter(|i| i.ring == ring), now) else {
            self.page = page;
            return if gone { Err(Error::Gone) } else { Ok(()) };
        };
        let first = self.passed.then_some(0);
        let known =
            self.rings.entry(ring).or_insert(Position { owner: now, seq: 0, end: 0, next: first });
        if !known.owner.is(&now) {
            known.next = Some(0);
        }
        known.owner = now;
        let read = if known.seq == seq { known.end } else { 0 };
        let (end, next) = (info.end(), known.next);
        if let Some(cut) = trim_read(&mut page, info, read as usize, next) {
            known.next = Some(cut.first.wrapping_add(cut.records));
            take(Piece {
                ring,
                owner: &now,
                first: cut.first,
                records: cut.records,
                missed: cut.missed,
                page: &page,
            });
        }
        (known.seq, known.end) = (seq, end);
        self.page = page;
        Ok(())
    }

    /// The place of the page that a ring is in.
    fn home(&mut self, m: Memory<'_>, ring: u32) -> Option<usize> {
        let first = ring - ring % self.meta.rings;
        if let Some(home) = self.homes.get(&first) {
            return Some(*home);
        }
        if !std::mem::replace(&mut self.looked, true) {
            for place in self.meta.places(m) {
                if let Some(first) = self.meta.first_ring(m, place) {
                    self.homes.insert(first, place);
                }
            }
        }
        self.homes.get(&first).copied()
    }
}
