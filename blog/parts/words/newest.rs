// SPDX-License-Identifier: GPL-2.0

//! The newest records of a ring, in pieces from its end on.
//!
//! Any context, under RCU's lock. Takes no other lock, and trusts nothing: it goes the way of crash
//! tools (`rust/kernel/blog/wire/dump.rs`), and follows pointers only by [`fetch`]. It checks
//! indices, and after a copy, whether the ring or page had the same owner all the time.

use core::mem::offset_of;
use kernel::blog::{
    ring::{
        self,
        Ring, //
    },
    wire::{
        dump,
        page::{
            PageInfo,
            PAGE_HEADER_SIZE,
            SEQ_MASK, //
        },
        record::Context,
        ring::RingHead, //
    }, //
};

use crate::{
    memory::{
        pool::Slot,
        Memory, //
    },
    parts::dumps::component_at,
    read::{
        piece,
        sections::PAGE_ROOM, //
    },
    sys::{
        nofault::{
            fetch,
            fetch_value, //
        },
        prelude::*, //
    }, //
};

/// Newest pages of a ring that may give pieces.
pub(crate) const PAGES: usize = 16;
/// Tries to copy a ring whose owner changes.
const LOOKS: u32 = 10;

/// Room for a copy of a ring, and of the header of its page.
#[repr(C, align(64))]
pub(crate) struct CopiedRing {
    ring: [u8; size_of::<Ring>()],
    page: [u8; PAGE_HEADER_SIZE],
}

impl CopiedRing {
    /// A copy of the ring, for which readers' functions return the same as for the ring. `None`:
    /// the ring can't be read, or the ring or its page got another owner meanwhile.
    fn copy(&mut self, slot: u32, ring: u32) -> Option<&Ring> {
        let from = ring_at(&memory_of(slot)?, ring)?;
        let version =
            || fetch_value::<u32>(from.wrapping_add(offset_of!(RingHead, version) as u64));
        let before = version()?;
        // ORDERING: The fences as in `Ownership::unchanged` and `PageHeader::look`: those can't see
        // whether a copy was made amid a change.
        fence(Acquire);
        fetch(from, &mut self.ring).then_some(())?;
        let page = self.ring.get_mut(offset_of!(RingHead, page)..)?;
        let page = page.first_chunk_mut()?;
        let at = u64::from_ne_bytes(*page);
        fetch(at, &mut self.page).then_some(())?;
        fence(Acquire);
        let seq_at = offset_of!(PageInfo, seq);
        let seq = self.page.get(seq_at..)?.first_chunk::<8>()?;
        let now = fetch_value::<[u8; 8]>(at.wrapping_add(seq_at as u64))?;
        ((version()?, now) == (before, *seq)).then_some(())?;
        *page = (self.page.as_ptr() as u64).to_ne_bytes();
        // SAFETY: It has the size and the alignment of a ring, and any bytes are one: its fields
        // are integers and pointers. Of these, readers follow only the one to the page's header,
        // which is there.
        Some(unsafe { &*self.ring.as_mut_ptr().cast() })
    }

    /// What readers want to know of the ring.
    pub(crate) fn info(&mut self, slot: u32, ring: u32) -> Option<ring::Info> {
        (0..LOOKS).find_map(|_| self.copy(slot, ring)?.info())
    }
}

/// Room for copies.
pub(crate) struct Copies {
    /// Of a page, with room for what `take_out` needs.
    pub(crate) page: KVVec<u8>,
    pub(crate) ring: KBox<CopiedRing>,
}

impl Copies {
    /// Process context.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            page: KVVec::from_elem(0, 2 * PAGE_ROOM, GFP_KERNEL)?,
            ring: KBox::new(
                CopiedRing {
                    ring: [0; size_of::<Ring>()],
                    page: [0; PAGE_HEADER_SIZE],
                },
                GFP_KERNEL,
            )?,
        })
    }

    /// As `Memory::copy`, of a ring; at any position if `seq` is `None`.
    fn copy(&mut self, of: (u32, u32), index: u32, seq: Option<u64>) -> Option<PageInfo> {
        let memory = memory_of(of.0)?;
        let word = |at: u64, offset: usize| fetch_value::<u64>(at.wrapping_add(offset as u64));
        let (page, size) = match index {
            ring::OWN_ROOM => (
                ring_at(&memory, of.1)?.wrapping_add(RingHead::SIZE as u64),
                ring::ROOM,
            ),
            index => {
                let slot = entry(&memory.slots, index)?;
                (word(slot, Slot::LAYOUT.page as usize)?, PAGE_SIZE as u32)
            }
        };
        // ORDERING: All fences as in `PageHeader::copy`.
        let life = word(page, offset_of!(PageInfo, seq))?;
        fence(Acquire);
        let next = word(page, offset_of!(PageInfo, next))? as u32;
        fence(Acquire);
        let commit = word(page, offset_of!(PageInfo, commit))?;
        fence(Acquire);
        if commit as u32 > size {
            return None;
        }
        let to = self.page.get_mut(..commit as u32 as usize)?;
        fetch(page, to).then_some(())?;
        fence(Acquire);
        let copy = PageInfo {
            next,
            commit,
            seq: life & SEQ_MASK,
            ..PageInfo::read(to)?
        };
        let same = word(page, offset_of!(PageInfo, seq))? == life;
        let wanted = copy.seq != 0 && seq.is_none_or(|seq| seq == copy.seq) && copy.size == size;
        *to.first_chunk_mut()? = copy.bytes();
        (same && wanted).then_some(copy)
    }
}

/// What describes the memory of the component in a slot, if it has any.
fn memory_of(slot: u32) -> Option<dump::MemoryRoot> {
    fetch_value(memory_at(slot)?)
}

/// Where that is.
fn memory_at(slot: u32) -> Option<u64> {
    let at = component_at(slot)?;
    fetch_value(at.wrapping_add(offset_of!(dump::ComponentRoot, memory) as u64))
}

/// Where an entry of a table is.
fn entry(table: &dump::TableRoot, n: u32) -> Option<u64> {
    table.find(n, fetch_value)
}

/// Where a ring is.
fn ring_at(memory: &dump::MemoryRoot, id: u32) -> Option<u64> {
    let (page, place) = memory.rings.place(id)?;
    let slot = entry(&memory.slots, page)?;
    let page: u64 = fetch_value(slot.wrapping_add(Slot::LAYOUT.rings.into()))?;
    Some(page.wrapping_add(u64::from(place) * u64::from(memory.rings.stride)))
}

/// The id of the ring of an interrupt context on a CPU, if it has one.
pub(crate) fn percpu_ring(slot: u32, cpu: u32, context: Context) -> Option<u32> {
    // The description is in the memory.
    let place = offset_of!(Memory, percpu).wrapping_sub(offset_of!(Memory, root));
    let rings = fetch_value::<[usize; 2]>(memory_at(slot)?.wrapping_add(place as u64))?;
    // SAFETY: Any bytes are such a pointer.
    let rings: *const [AtomicPtr<Ring>] = unsafe { mem::transmute(rings) };
    let n = context.percpu_index(cpu as usize)?;
    let at = rings.cast::<AtomicPtr<Ring>>().wrapping_add(n);
    let ring: u64 = (n < rings.len()).then(|| fetch_value(at as u64))??;
    fetch_value(ring.wrapping_add(offset_of!(RingHead, id) as u64))
}

/// A ring, and how far it was read.
pub(crate) struct Newest {
    pub(crate) slot: u32,
    pub(crate) ring: u32,
    /// Whose it is: see `RingWalk`.
    pub(crate) owner: (u64, i32),
    /// Position of the page that gives the next piece, and how many are known from there back.
    seq: u64,
    pub(crate) known: usize,
    /// Where in that page the piece ends; 0: where the page does.
    end: usize,
    /// Indices of pages, by their positions.
    pages: [u32; PAGES],
}

impl Newest {
    /// Goes from the oldest page of a ring to the newest, and subtracts the pages on the way from
    /// `steps`. `None`: there are no records, or too many pages, or they can't be read, or the
    /// writer has taken a page on the way.
    pub(crate) fn new(slot: u32, ring: u32, to: &mut Copies, steps: &mut u32) -> Option<Self> {
        let info = to.ring.info(slot, ring).filter(|info| info.records != 0)?;
        let mut new = Self {
            slot,
            ring,
            owner: (info.first_seq, info.owner.pid),
            seq: 0,
            known: 0,
            end: 0,
            pages: [0; PAGES],
        };
        let oldest = to.ring.copy(slot, ring)?.oldest_page();
        let mut at = oldest.map(|index| (index, None));
        while let Some((index, seq)) = at {
            *steps = steps.checked_sub(1)?;
            let copy = to.copy((slot, ring), index, seq)?;
            if copy.ring != ring {
                return None;
            }
            (new.seq, new.known) = (copy.seq, PAGES.min(new.known + 1));
            *new.pages.get_mut(copy.seq as usize % PAGES)? = index;
            at = (copy.next != ring::NO_PAGE).then_some((copy.next, Some(copy.seq + 1)));
        }
        Some(new)
    }

    /// Goes on before a piece that began there.
    pub(crate) fn took(&mut self, start: usize) {
        self.end = start;
        if start <= PAGE_HEADER_SIZE {
            self.back();
        }
    }

    /// Goes to the page before.
    pub(crate) fn back(&mut self) {
        self.end = 0;
        self.known = self.known.saturating_sub(1);
        self.seq = self.seq.saturating_sub(1);
    }

    /// Copies the records before the last piece to `to.page`, at most `want` bytes of them but one
    /// record at least, as a page of their own. Returns its length, where it began, and how many
    /// bytes there are before the last piece. `None`: this page has none, or is gone.
    pub(crate) fn piece(&self, to: &mut Copies, want: usize) -> Option<(usize, usize, usize)> {
        let index = *self.pages.get(self.seq as usize % PAGES)?;
        let mut copy = to.copy((self.slot, self.ring), index, Some(self.seq))?;
        let info = to.ring.info(self.slot, self.ring)?;
        if copy.ring != self.ring || (info.first_seq, info.owner.pid) != self.owner {
            return None;
        }
        let page = &mut to.page;
        let end = match self.end {
            0 => copy.end() as usize,
            end => end,
        };
        let (mut records, mut count) = (piece::Records::new(page, PAGE_HEADER_SIZE, end), 0);
        let mut start = None;
        while let Some((at, header)) = records.next(page) {
            count += u64::from(header.site() != 0);
            // The first one that is near enough, or the last one.
            if start.is_none_or(|start| end - start > want) {
                start = Some(at);
            }
        }
        let start = start.filter(|_| records.at() == end)?;
        copy.commit = count << 32 | end as u64;
        *page.first_chunk_mut()? = copy.bytes();
        let piece = piece::rest_after(page.get_mut(..PAGE_ROOM)?, (self.seq, start as u32))?;
        Some((piece.len, start, end - start))
    }
}
