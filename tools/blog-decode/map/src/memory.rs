// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Memory that changes while it is read, and how a page or a ring of it is copied.

use std::sync::atomic::{fence, AtomicU64, Ordering::Acquire};

use crate::{
    wire::{
        self,
        map::{GONE, MAGIC, VERSION},
        page::{PageInfo, PAGE_HEADER_SIZE, PAGE_MAGIC, RINGS_MAGIC, SEQ_MASK},
        record::{Context, WIRE_VERSION},
        ring::{RingHead, RING_SIZE},
    },
    Error,
};

/// How often something is read again that changes meanwhile.
const TRIES: u32 = 8;
/// More pages than the largest component can have.
const MAX_PLACES: u32 = 1 << 20;

/// Memory of a component: the words of a mapping of its file `map`, from the start of that on.
#[derive(Clone, Copy)]
pub struct Memory<'a>(&'a [AtomicU64]);

impl<'a> Memory<'a> {
    /// Words that may change at any time.
    pub fn new(words: &'a [AtomicU64]) -> Self {
        Self(words)
    }

    /// The word at a multiple of 8 bytes; what is not mapped is 0.
    ///
    /// ORDERING: Acquire pairs with the kernel's release stores of positions, ends and versions.
    fn word(self, at: usize) -> u64 {
        self.0.get(at / 8).map_or(0, |word| word.load(Acquire))
    }

    fn u32(self, at: usize) -> u32 {
        (self.word(at) >> (at % 8 / 4 * 32)) as u32
    }

    fn u8(self, at: usize) -> u8 {
        (self.word(at) >> (at % 8 * 8)) as u8
    }

    fn copy(self, at: usize, to: &mut [u8]) {
        for (n, chunk) in to.chunks_mut(8).enumerate() {
            let word = self.word(at + n * 8).to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    fn pages(self, page: usize) -> usize {
        self.0.len() * 8 / page
    }
}

/// Where a field of the meta page is.
macro_rules! at {
    ($field:ident) => {
        std::mem::offset_of!(wire::map::Meta, $field)
    };
}

/// Where a field of a ring is.
macro_rules! in_ring {
    ($field:ident) => {
        std::mem::offset_of!(RingHead, $field)
    };
}

/// What the meta page says, as far as it can be believed.
#[derive(Clone, Copy)]
pub(crate) struct Meta {
    page: usize,
    /// Where the first ring is in a page of rings.
    rings_at: usize,
    /// Rings in a page.
    pub(crate) rings: u32,
    places: u32,
    pub(crate) generation: u32,
}

impl Meta {
    pub(crate) fn read(m: Memory<'_>) -> Result<Self, Error> {
        let wrong = |what: String| Err(Error::Wrong(what));
        if m.word(at!(magic)).to_le_bytes() != MAGIC {
            return wrong("it isn't the memory of a component".into());
        }
        let (version, wire) = (m.u32(at!(version)), m.u32(at!(wire_version)));
        if version != VERSION || wire != WIRE_VERSION {
            return wrong(format!(
                "it has version {version} with records of version {wire}, but this program reads \
                 {VERSION} with {WIRE_VERSION}"
            ));
        }
        // It is stored after the places.
        let generation = m.u32(at!(generation));
        if generation == GONE {
            return Err(Error::Gone);
        }
        let this = Self {
            page: m.u32(at!(page_size)) as usize,
            rings_at: m.u32(at!(rings_at)) as usize,
            rings: m.u32(at!(rings)),
            places: m.u32(at!(pages)),
            generation,
        };
        let sound = m.u32(at!(size)) as usize >= size_of::<wire::map::Meta>()
            && this.page.is_power_of_two()
            && (4096..=65536).contains(&this.page)
            && this.rings_at % 8 == 0
            && (PAGE_HEADER_SIZE..=this.page).contains(&this.rings_at)
            && (1..=(this.page - this.rings_at) / RING_SIZE).contains(&(this.rings as usize))
            && this.places <= MAX_PLACES;
        match sound {
            true => Ok(this),
            false => wrong("its meta page is damaged".into()),
        }
    }

    /// Pages of the file. It is of pages of 4096 bytes.
    pub(crate) fn pages(&self) -> Result<usize, Error> {
        match self.page {
            4096 => Ok(1 + self.places as usize),
            size => Err(Error::Wrong(format!("its pages have {size} bytes"))),
        }
    }

    /// The places that are mapped, from 1 on.
    pub(crate) fn places(&self, m: Memory<'_>) -> std::ops::Range<usize> {
        1..m.pages(self.page).min(self.places as usize + 1)
    }

    /// Whether this is still what is mapped.
    pub(crate) fn check(&self, m: Memory<'_>) -> Result<(), Error> {
        match m.u32(at!(generation)) {
            GONE => Err(Error::Gone),
            now if now == self.generation => Ok(()),
            _ => Err(Error::Changed),
        }
    }

    /// The pages at a place: one, or those that rings have for themselves.
    pub(crate) fn parts(&self, m: Memory<'_>, place: usize) -> impl Iterator<Item = Part> {
        let at = place * self.page;
        // A page of rings stays one, so a copy of what is in there needs no second look at this.
        let magic = m.u32(at);
        let page = (magic == PAGE_MAGIC).then_some(Part { at, size: self.page });
        let rings = if magic == RINGS_MAGIC { self.rings } else { 0 };
        let (this, size) = (*self, RING_SIZE - RingHead::SIZE);
        let rooms = (0..rings).map(move |n| this.ring_at(place, n) + RingHead::SIZE);
        page.into_iter().chain(rooms.map(move |at| Part { at, size }))
    }

    /// If a place has rings: the id of the first one.
    pub(crate) fn first_ring(&self, m: Memory<'_>, place: usize) -> Option<u32> {
        let at = place * self.page;
        let first = (m.u32(at) == RINGS_MAGIC).then(|| m.u32(at + 8))?;
        let id = |n| m.u32(self.ring_at(place, n) + in_ring!(id));
        let is_one = first % self.rings == 0
            && first.checked_add(self.rings).is_some()
            && (0..self.rings).all(|n| id(n) == first + n);
        is_one.then_some(first)
    }

    /// Where ring `n` at a place is, which has rings.
    fn ring_at(&self, place: usize, n: u32) -> usize {
        place * self.page + self.rings_at + (n % self.rings) as usize * RING_SIZE
    }

    /// The owner of ring `n` at a place, which has rings.
    pub(crate) fn owner(&self, m: Memory<'_>, place: usize, n: u32) -> Option<Owner> {
        let ring = self.ring_at(place, n);
        for _ in 0..TRIES {
            let version = m.u32(ring + in_ring!(version));
            if version & 1 != 0 {
                continue;
            }
            let (state, context) = (m.u8(ring + in_ring!(state)), m.u8(ring + in_ring!(context)));
            let counts = |at| std::array::from_fn(|n| m.word(ring + at + n * 8));
            let mut owner = Owner {
                retired: state == 2,
                context,
                cpu: m.u32(ring + in_ring!(cpu)),
                pid: m.u32(ring + in_ring!(pid)) as i32,
                tgid: m.u32(ring + in_ring!(tgid)) as i32,
                comm: [0; 16],
                exit_clock: match state {
                    2 => m.word(ring + in_ring!(exit_clock)),
                    _ => 0,
                },
                // Before `lost`, so that the reports never exceed the losses.
                told: counts(in_ring!(told)),
                lost: counts(in_ring!(lost)),
                first_seq: m.word(ring + in_ring!(first_seq)),
            };
            m.copy(ring + in_ring!(comm), &mut owner.comm);
            let known = matches!(state, 1 | 2) && Context::from_u8(context).is_some();
            // ORDERING: Pairs with the release fence before an owner changes.
            fence(Acquire);
            if m.u32(ring + in_ring!(version)) == version {
                return known.then_some(owner);
            }
        }
        None
    }
}

/// The owner of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Whether the task has ended.
    pub retired: bool,
    /// The context, as in a Ring section of a file.
    pub context: u8,
    /// CPU of a per-CPU ring, else `u32::MAX`.
    pub cpu: u32,
    /// Thread id, or -1.
    pub pid: i32,
    /// Process id, or -1.
    pub tgid: i32,
    /// Name of the task when it got the ring, NUL padded.
    pub comm: [u8; 16],
    /// Clock at which the task ended; 0: it lives.
    pub exit_clock: u64,
    /// Records lost, by cause.
    pub lost: [u64; 8],
    /// Of these, those that the ring's lost records report.
    pub told: [u64; 8],
    /// Pages of this owner have a position of at least this one.
    pub(crate) first_seq: u64,
}

impl Owner {
    /// Whether it is the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.first_seq, self.pid) == (other.first_seq, other.pid)
    }
}

/// A page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    at: usize,
    /// How large it is at most.
    size: usize,
}

impl Part {
    /// Ring, position, and published end; `None`: it is in no ring.
    pub(crate) fn look(&self, m: Memory<'_>) -> Option<(u32, u64, u32)> {
        let seq = m.word(self.at + 16) & SEQ_MASK;
        let is_one = seq != 0 && m.u32(self.at) == PAGE_MAGIC;
        is_one.then(|| (m.u32(self.at + 8), seq, m.u32(self.at + 40)))
    }

    /// Copies it, as far as it is published, if it is at this position of a ring. The copy has a
    /// header as in a file.
    pub(crate) fn copy(&self, m: Memory<'_>, seq: u64, to: &mut Vec<u8>) -> Option<PageInfo> {
        self.copy_and(m, seq, to, || ())
    }

    /// The same; `meanwhile` is what happens before it looks again.
    fn copy_and(
        &self,
        m: Memory<'_>,
        seq: u64,
        to: &mut Vec<u8>,
        meanwhile: impl FnOnce(),
    ) -> Option<PageInfo> {
        let life = m.word(self.at + 16);
        let commit = m.word(self.at + 40);
        let len = commit as u32 as usize;
        if life & SEQ_MASK != seq || !(PAGE_HEADER_SIZE..=self.size).contains(&len) {
            return None;
        }
        to.clear();
        to.resize(len, 0);
        m.copy(self.at, to);
        let info = PageInfo { seq, commit, ..PageInfo::read(to)? };
        *to.first_chunk_mut()? = info.bytes();
        meanwhile();
        // ORDERING: It pairs with the release fence before the page's next life: if any of the copy
        // is of that, then the position, or the time when it began, reads as changed here.
        fence(Acquire);
        let same = (m.word(self.at + 16), m.word(self.at + 24)) == (life, info.base);
        (same && info.magic == PAGE_MAGIC && info.size as usize <= self.size).then_some(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Image;

    /// Copies the own page of ring 2, in which a record was logged.
    fn copied(meanwhile: impl FnOnce(&Image, usize)) -> Option<Vec<u8>> {
        let (image, at) = (Image::new(1), Image::room(2));
        image.begin(at, 2, 5, 0, 0);
        image.log(at, 1, 3, b"it");
        let memory = Memory::new(&image.0);
        let meta = Meta::read(memory).ok()?;
        let part = meta.parts(memory, 1).nth(2)?;
        assert_eq!(part.look(memory), Some((2, 5, 58)));
        let mut copy = Vec::new();
        part.copy_and(memory, 5, &mut copy, || meanwhile(&image, at))?;
        Some(copy)
    }

    #[test]
    fn a_copy_is_of_one_life() {
        let whole = copied(|_, _| ()).unwrap();
        assert!(whole.ends_with(b"it") && whole.len() == 58);
        // What is logged after that doesn't matter.
        assert_eq!(copied(|image, at| image.log(at, 2, 3, b"more")), Some(whole));
        // At the same position of the next owner.
        assert_eq!(copied(|image, at| image.begin(at, 2, 5, 0, 9)), None);
        // Even in as many lives.
        let again = |image: &Image, at| {
            let before = image.word(at + 16);
            image.begin(at, 1, 5, 0, 9);
            image.set(at + 16, before);
        };
        assert_eq!(copied(again), None);
    }
}
