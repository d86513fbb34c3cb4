// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The rings of a component and the places of their pages.
//!
//! Each page names its ring. So a walk over all places of pages, and over the pages that rings have
//! for themselves, finds them; the chains are not followed, as they may have been in the middle of
//! a change.

use std::{
    collections::{BTreeMap, HashSet},
    ops::RangeInclusive,
};

use crate::{
    blogfmt::bytes::{array, u32_at, u64_at, u8_at},
    layout::{self, RingLayout},
    memory::Memory,
    problems::Problems,
    table::{at_addr, Walks},
    tasks::Tasks,
    wire::{
        dump::{MemoryRoot as Layout, Root, SINCE_ROOM},
        field::Field,
        file::RingSection,
        page::{PageInfo, PAGE_HEADER_SIZE, PAGE_MAGIC, RINGS_MAGIC, SEQ_MASK},
        record::Context,
        ring::RING_BUSY,
    },
};

/// States of a ring.
const LIVE: u8 = 1;
const RETIRED: u8 = 2;

/// A page of a ring.
#[derive(Clone, Copy)]
pub(super) struct FoundPage {
    /// Position in the ring.
    pub(super) seq: u64,
    /// Its address.
    pub(super) addr: u64,
    /// Its header.
    pub(super) info: PageInfo,
}

/// A ring that has something to tell.
pub(super) struct FoundRing {
    /// As in the snapshot.
    pub(super) ring: RingSection,
    /// Its pages, the oldest first.
    pub(super) pages: Vec<FoundPage>,
}

/// A ring while its pages are being looked for.
pub(super) struct Candidate {
    found: FoundRing,
    /// Address of its current page, and position.
    page: u64,
    seq: u64,
    first_seq: u64,
    taken: u64,
    /// A record was being written, or a page turned.
    busy: bool,
}

/// Finds all rings of a component, and their pages.
pub(super) fn find(
    memory: &impl Memory,
    root: &Root,
    of: (u32, &Layout),
    tasks: &Tasks,
    walks: &Walks,
    place: &str,
    problems: &mut Problems,
) -> Vec<FoundRing> {
    let ((component, layout), of_ring) = (of, RingLayout::from_root(root));
    let (mut pages, mut of_rings) = (Vec::new(), Vec::new());
    walks.each(memory, &layout.slots, root.slot.size, place, problems, |n, _, slot, _| {
        let address = |at: u32| u64_at(slot, at as usize).unwrap_or(0);
        let shape = match layout.chunks {
            0 => 0,
            _ => u32_at(slot, root.slot.shape as usize).unwrap_or(0),
        };
        let (page, rings) = (address(root.slot.page), address(root.slot.rings));
        // While its shape changes, it is in no ring.
        if page != 0 && shape & 1 == 0 {
            pages.push((page, shape));
        }
        if layout.rings.chunks == 0 && rings != 0 {
            of_rings.push((n, rings));
        }
    });
    let (mut rings, mut rooms) = (BTreeMap::new(), Vec::new());
    let ring = |id, addr: u64, bytes: &[u8], problems: &mut Problems| {
        let Some(mut ring) = candidate(&of_ring, component, id, bytes, place, problems) else {
            return;
        };
        if let Some(task) = tasks.owner(addr).filter(|_| ring.found.ring.retired == 0) {
            ring.found.ring.task_state = task.state;
            ring.found.ring.comm = task.comm;
        }
        rings.insert(id, ring);
        if root.version >= SINCE_ROOM {
            rooms.push(addr.wrapping_add(of_ring.room.into()));
        }
    };
    let (table, size) = (&layout.rings, of_ring.size);
    match table.chunks {
        0 => walks.values(memory, (table, size), of_rings, place, problems, ring),
        _ => walks.each(memory, table, size, place, problems, ring),
    }
    let (mut seen, mut leaving) = (HashSet::new(), 0);
    for (page, shape) in pages {
        if page % u64::from(layout.page_size) != 0 || !seen.insert(page) {
            problems.grave(place, "the place of a page is damaged", || format!("{page:#x}"));
            continue;
        }
        let (parts, size) = match shape & 2 {
            0 => (1, layout.page_size),
            _ => (layout.chunks, layout.chunk_size),
        };
        // One of them is counted already.
        if !walks.more(parts.saturating_sub(1), place, problems) {
            break;
        }
        for part in 0..parts {
            let addr = page.wrapping_add(u64::from(part * size));
            leaving += take_page(memory, &mut rings, addr, size..=size, place, problems);
        }
    }
    for addr in rooms {
        leaving += take_page(memory, &mut rings, addr, rooms_of(&of_ring), place, problems);
    }
    if leaving > root.system.cpus {
        problems.grave(place, "too many pages belong to no ring: those are skipped", String::new);
    }
    let mut found = Vec::new();
    for ring in rings.into_values() {
        found.extend(ring.finish(root.system.cpus, place, problems));
    }
    found
}

/// Takes a ring apart; `None`: it is free, or damaged.
pub(super) fn candidate(
    l: &RingLayout,
    component: u32,
    id: u32,
    bytes: &[u8],
    place: &str,
    problems: &mut Problems,
) -> Option<Candidate> {
    let word = |at: u32| u32_at(bytes, at as usize).unwrap_or(0);
    let long = |at: u32| u64_at(bytes, at as usize).unwrap_or(0);
    let counters = |at: u32| Field::get(bytes.get(at as usize..).unwrap_or(&[]));
    let state = u8_at(bytes, l.state as usize)?;
    let context = u8_at(bytes, l.context as usize)?;
    if state == 0 {
        return None;
    }
    if !matches!(state, LIVE | RETIRED) || Context::from_u8(context).is_none() || word(l.id) != id {
        problems.grave(place, "a ring is damaged", || format!("ring {id}"));
        return None;
    }
    if word(l.version) & 1 != 0 {
        problems.note(false, place, "a ring was just changing hands", || format!("ring {id}"));
    }
    Some(Candidate {
        found: FoundRing {
            ring: RingSection {
                component,
                ring: id,
                context,
                retired: u8::from(state == RETIRED),
                cpu: word(l.cpu),
                pid: word(l.pid) as i32,
                tgid: word(l.tgid) as i32,
                comm: array(bytes, l.comm as usize).unwrap_or_default(),
                exit_clock: match state {
                    RETIRED => long(l.exit_clock),
                    _ => 0,
                },
                lost: counters(l.lost),
                told: counters(l.told),
                pages: word(l.pages),
                ..RingSection::get(&[])
            },
            pages: Vec::new(),
        },
        page: long(l.page),
        seq: long(l.seq),
        first_seq: long(l.first_seq),
        taken: long(l.taken),
        busy: word(l.busy) & RING_BUSY != 0,
    })
}

/// The sizes that a ring's own page may have.
pub(super) fn rooms_of(l: &RingLayout) -> RangeInclusive<u32> {
    PAGE_HEADER_SIZE as u32..=l.size.saturating_sub(l.room)
}

/// Gives a page of one of these `sizes` to the ring that it is of, if it is of one. Returns the
/// number of pages that have left their ring and don't know it yet: each CPU may have been taking
/// one away.
pub(super) fn take_page(
    memory: &impl Memory,
    rings: &mut BTreeMap<u32, Candidate>,
    addr: u64,
    sizes: RangeInclusive<u32>,
    place: &str,
    problems: &mut Problems,
) -> u32 {
    let mut raw = [0; PAGE_HEADER_SIZE];
    if let Err(e) = memory.read(addr, &mut raw) {
        problems.grave(place, "a page can't be read", || at_addr(addr, &e));
        return 0;
    }
    let Some(info) = PageInfo::read(&raw) else {
        return 0;
    };
    if info.magic == RINGS_MAGIC {
        return 0;
    }
    if info.magic != PAGE_MAGIC || !sizes.contains(&info.size) {
        problems.grave(place, "a page has no header", || format!("at {addr:#x}"));
        return 0;
    }
    let seq = info.seq & SEQ_MASK;
    if seq == 0 {
        return 0;
    }
    if let Some(ring) = rings.get_mut(&info.ring) {
        if seq >= ring.first_seq {
            ring.found.pages.push(FoundPage { seq, addr, info });
            return 0;
        }
    }
    problems.note(false, place, "a page was just leaving its ring", || {
        format!("at {addr:#x}: position {seq} of ring {}", info.ring)
    });
    1
}

impl Candidate {
    /// Takes the page at the current position for the current one, where the address says nothing.
    pub(super) fn find_current(&mut self) {
        let current = self.found.pages.iter().find(|p| p.seq == self.seq);
        self.page = current.map_or(0, |p| p.addr);
    }

    /// Puts the pages in order, and counts; `None`: it has nothing to tell.
    pub(super) fn finish(
        mut self,
        cpus: u32,
        place: &str,
        problems: &mut Problems,
    ) -> Option<FoundRing> {
        let ring = &mut self.found.ring;
        let pages = &mut self.found.pages;
        let name = || format!("ring {}", ring.ring);
        pages.sort_by_key(|p| p.seq);
        let before = pages.len();
        pages.dedup_by_key(|p| p.seq);
        if pages.len() != before {
            problems.grave(place, "two pages have the same position", name);
        }
        // Each CPU may have been taking one away, and who came later may have been done first.
        let hole = pages.windows(2).rposition(|w| w[1].seq - w[0].seq != 1);
        if let Some(before) = hole {
            let grave = before >= cpus as usize;
            let what = "pages are missing in the middle of a ring";
            problems.note(grave, place, what, name);
        }
        // Each CPU may have been adding one or taking one away.
        let lacks = u64::from(ring.pages).saturating_sub(pages.len() as u64);
        if lacks > 0 && !(self.busy && lacks == 1) {
            problems.note(
                lacks > u64::from(cpus),
                place,
                "a ring has fewer pages than it counts",
                || format!("ring {} lacks {lacks}", ring.ring),
            );
        }
        let last = pages.last();
        let current = last.filter(|p| p.addr == self.page);
        // A ring in the middle of a turn has counted the page that is to come.
        let lacks_newest = last.map_or(self.first_seq.saturating_sub(1), |p| p.seq) < self.seq;
        if lacks_newest && !self.busy && ring.retired == 0 && self.seq >= self.first_seq {
            problems.grave(place, "the newest page of a ring is missing", name);
        }
        let of_current = |p: &FoundPage| p.info.first.wrapping_add(p.info.records().into());
        ring.records = match current {
            Some(page) if ring.retired == 0 => of_current(page),
            _ => self.taken,
        };
        ring.pages = ring.pages.max(pages.len() as u32);
        let lost_any = ring.lost.iter().any(|n| *n != 0);
        (ring.records != 0 || lost_any || !pages.is_empty()).then_some(self.found)
    }
}

/// Whether rings and slots can be read by what the root says.
pub(super) fn layouts_fit(root: &Root) -> bool {
    RingLayout::from_root(root).fits(root.version >= SINCE_ROOM) && layout::slot_fits(&root.slot)
}
