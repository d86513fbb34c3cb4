// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Goes through the sections of a file, and takes in their content.
//!
//! [`Snapshot::read`] runs a [`Scan`] over a whole file; a reader of streams takes sections in as
//! they come. Both count what is missing or makes no sense.

use std::{
    collections::{hash_map::Entry, HashMap},
    iter,
    sync::Arc,
};

use super::{
    links::Link, nothing, run::Run, text, Losses, PageRef, RingInfo, RingPages, Snapshot, ALIGN,
    MAX_PAIRS, SECTION_HEADER,
};
use crate::{
    error::Error,
    wire::{
        field::Field,
        file as wire,
        file::{
            Clock, ClockPair, ComponentSection, End, Image, Kind, Page, PageEnd, Released,
            RingSection, SectionHeader, System, Task, Wait,
        },
        hits::Counts,
        page::PageInfo,
        record::{Lost, SITE_MAX},
        thin,
    },
};

/// No kernel has more images with call sites, nor more bytes of side tables.
const SIDE_TABLES: usize = 8 * wire::TABLES_MAX;
const SIDE_TABLE_BYTES: usize = 256 << 20;

/// What a section says of a ring.
pub enum Part {
    /// Nothing.
    None,
    /// Whose it is, and its counts.
    Ring(RingInfo),
    /// A page of the ring with this component and ring id, and how many records the reader of the
    /// stream has missed before it.
    Page((u32, u32), PageRef, u64),
    /// The ring with this component and ring id was taken from its owner. This is for
    /// [`Sections::release`].
    Released((u32, u32), u64),
}

/// What belongs to no ring of a component.
struct Loose {
    /// Its last section, and its first one: what that counts is of no ring of this file.
    raw: ComponentSection,
    first: ComponentSection,
    /// Records and losses of rings of this file that were taken from their owners.
    records: u64,
    lost: Losses,
}

impl Loose {
    /// The component, without what the rings of this file have.
    fn component(&self, is_stream: bool) -> ComponentSection {
        let mut this = self.raw;
        // The section that counts a ring comes after that which says that it was taken.
        let less = |sum: u64, of_rings: u64, first: u64| match of_rings {
            0 => sum,
            n => sum.saturating_sub(n).max(first),
        };
        let first = &self.first;
        let gone = less(this.gone_records, self.records, first.gone_records);
        for (i, lost) in this.lost.iter_mut().enumerate() {
            *lost = less(*lost, self.lost[i], first.lost[i]);
        }
        this.gone_records = match is_stream {
            true => {
                let missed = &mut this.lost[Lost::ReaderLag as usize];
                *missed = missed.saturating_add(gone.saturating_sub(first.gone_records));
                first.gone_records
            }
            false => gone,
        };
        this
    }
}

/// What is known of the sections so far.
#[derive(Default)]
pub struct Sections {
    next_index: u32,
    /// How many there were.
    pub count: u64,
    /// There was an End.
    pub ended: bool,
    /// How many were about clocks.
    pub clocks: u64,
    /// How many were about images.
    pub images: u64,
    /// Side tables of images, and their bytes.
    side_tables: usize,
    table_bytes: usize,
    /// By component.
    loose: HashMap<u32, Loose>,
}

impl Sections {
    /// Takes a section in, of which the payload is at `at` in the file.
    pub fn take(
        &mut self,
        file: &mut Snapshot,
        header: &SectionHeader,
        at: u64,
        payload: &[u8],
    ) -> Part {
        // Sections that are missing before this one.
        if header.index > self.next_index {
            file.damage.lost_sections += u64::from(header.index - self.next_index);
        }
        self.next_index = header.index.saturating_add(1);
        self.count += 1;
        if crc32fast::hash(payload) == header.payload_crc {
            if let Some(part) = self.content(file, header, at, payload) {
                return part;
            }
        }
        file.damage.bad_sections += 1;
        Part::None
    }

    /// `None`: it makes no sense.
    fn content(
        &mut self,
        file: &mut Snapshot,
        header: &SectionHeader,
        at: u64,
        payload: &[u8],
    ) -> Option<Part> {
        match Kind::from_u16(header.kind) {
            Some(Kind::System) => {
                let system = System::read(payload)?;
                if !file.given {
                    file.host = text(&system.host);
                }
                file.system = Some(system);
            }
            Some(Kind::Clock) => {
                let clock = Clock::read(payload).filter(|c| c.pairs <= MAX_PAIRS)?;
                add_pairs(&mut file.pairs, pairs(clock.pairs as usize, &payload[Clock::SIZE..])?);
                file.clock = Some(clock);
                self.clocks += 1;
            }
            Some(Kind::Images) => {
                for image in list::<Image>(payload) {
                    if image.build_id_len as usize > wire::BUILD_ID_MAX {
                        return None;
                    }
                    file.images.push(image);
                }
                self.images += 1;
                return ends_with::<Image>(payload);
            }
            Some(Kind::Table) => {
                let probes = file.tables.len() - self.side_tables;
                if probes >= wire::TABLES_MAX || payload.len() > wire::TABLE_MAX {
                    return None;
                }
                file.tables.push(payload.to_vec());
                self.images += 1;
            }
            Some(Kind::SideTable) => {
                self.table_bytes += payload.len();
                if self.side_tables >= SIDE_TABLES || self.table_bytes > SIDE_TABLE_BYTES {
                    return None;
                }
                self.side_tables += 1;
                file.tables.push(payload.to_vec());
                self.images += 1;
            }
            Some(kind @ (Kind::KernelLog | Kind::Settings)) => {
                file.texts.push((kind, at, payload.len()));
            }
            Some(Kind::Component) => {
                let raw = ComponentSection::read(payload)?;
                let loose = match self.loose.entry(raw.id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        new.insert(Loose { raw, first: raw, records: 0, lost: Losses::default() })
                    }
                };
                loose.raw = raw;
                file.components.insert(raw.id, loose.component(file.stream));
            }
            Some(Kind::Released) => {
                let Released { component, ring, records } = Released::read(payload)?;
                return Some(Part::Released((component, ring), records));
            }
            Some(Kind::Ring) => {
                return Some(Part::Ring(RingInfo::from(&RingSection::read(payload)?)))
            }
            Some(Kind::Page) => return page(at, payload, file.stream),
            Some(Kind::End) => {
                End::read(payload)?;
                self.ended = true;
            }
            Some(Kind::Tasks) => {
                file.tasks.extend(list::<Task>(payload));
                return ends_with::<Task>(payload);
            }
            Some(Kind::Waits) => {
                file.waits.extend(list::<Wait>(payload));
                return ends_with::<Wait>(payload);
            }
            Some(Kind::Counts) => {
                let head = Counts::read(payload)?;
                let counts = file.counts.get_mut(head.late as usize)?;
                let rest = &payload[Counts::SIZE..];
                let mut values = list::<u64>(rest);
                let sites = (head.first..=SITE_MAX).zip(values.by_ref());
                counts.extend(sites.filter(|(_, n)| *n != 0));
                return values.next().map_or(ends_with::<u64>(rest), |_| None);
            }
            // A newer writer's.
            None => {}
        }
        Some(Part::None)
    }

    /// A ring of a component was taken from its owner: the file accounts for this many of its
    /// records, and has these losses of it.
    pub fn release(&mut self, file: &mut Snapshot, id: u32, records: u64, lost: Losses) {
        let Some(loose) = self.loose.get_mut(&id) else { return };
        loose.records = loose.records.saturating_add(records);
        for (sum, lost) in loose.lost.iter_mut().zip(lost) {
            *sum = sum.saturating_add(lost);
        }
        // What the reader has missed is in no other count.
        loose.lost[Lost::ReaderLag as usize] = 0;
        file.components.insert(id, loose.component(file.stream));
    }
}

/// The structures that a payload has one after the other.
pub(super) fn list<T: Field>(payload: &[u8]) -> impl Iterator<Item = T> + use<'_, T> {
    payload.chunks_exact(T::SIZE).map(T::get)
}

/// Whether the last of them is whole.
fn ends_with<T: Field>(payload: &[u8]) -> Option<Part> {
    (payload.len() % T::SIZE == 0).then_some(Part::None)
}

/// So many pairs of clocks, of whichever version.
fn pairs(n: usize, bytes: &[u8]) -> Option<Vec<ClockPair>> {
    let is_whole = bytes.len() >= n * ClockPair::SIZE;
    let size = if is_whole { ClockPair::SIZE } else { ClockPair::LEAST };
    (0..n).map(|i| ClockPair::read(bytes.get(i * size..(i + 1) * size)?)).collect()
}

/// Adds what a Clock section has to what those before had, in the order of the rings' clock.
fn add_pairs(pairs: &mut Vec<ClockPair>, new: Vec<ClockPair>) {
    pairs.extend(new);
    pairs.sort_by_key(|pair| pair.clock);
    pairs.dedup_by_key(|pair| pair.clock);
    while pairs.len() > MAX_PAIRS as usize {
        thin_out(pairs);
    }
}

/// Leaves out up to half of very many pairs, at least one in four: those that tell the least beyond
/// their neighbours, and no two neighbours at once. So those at sleeps and at changes of a clock
/// stay.
fn thin_out(pairs: &mut Vec<ClockPair>) {
    let triangles = pairs.windows(3);
    let areas: Vec<_> = triangles.map(|w| thin::area(&w[0], &w[1], &w[2])).collect();
    let mut sorted = areas.clone();
    let (_, &mut middle, _) = sorted.select_nth_unstable(areas.len() / 2);
    // The first and the last pair have no triangle.
    let mut of_each = iter::once(None).chain(areas.into_iter().map(Some));
    let mut is_out = false;
    pairs.retain(|_| {
        let area = of_each.next().flatten();
        is_out = !is_out && area.is_some_and(|area| area <= middle);
        !is_out
    });
}

fn page(at: u64, payload: &[u8], is_stream: bool) -> Option<Part> {
    let head = Page::read(payload)?;
    let page = &payload[Page::SIZE..];
    let offset = at + Page::SIZE as u64;
    let found = PageRef::in_section(offset, page.len() as u64, PageInfo::read(page)?)?;
    let end = page.get(found.len as usize..).and_then(PageEnd::read);
    let missed = end.filter(|_| is_stream).map_or(0, |end| found.first.saturating_sub(end.next));
    Some(Part::Page((head.component, head.ring), found, missed))
}

/// Whose a ring is, as far as that is a number.
fn who(ring: &RingInfo) -> (u8, u32, i32, i32) {
    (ring.context, ring.cpu, ring.pid, ring.tgid)
}

/// Whether a ring that was `old` has another owner now that it is `new`.
pub fn changes_hands(old: &RingInfo, new: &RingInfo) -> bool {
    // A task that has ended doesn't come back, nor does it end twice.
    let ends_again = old.retired != 0 && old.exit_clock != new.exit_clock;
    who(old) != who(new) || old.retired > new.retired || ends_again
}

/// What the first section of a ring says of [`RingPages::before`].
///
/// A stream begins with the clock's start, so one that begins with a single pair is a further file of
/// a recording. Its section is the last one that came, and may be older than the file.
pub fn before(file: &Snapshot, ring: &RingInfo) -> Option<(u64, bool)> {
    let known = (ring.records, file.pairs.len() == 1);
    Some(known).filter(|known| file.stream && *known != (0, false))
}

/// One pass through a whole file.
pub(super) struct Scan<'a> {
    file: &'a mut Snapshot,
    sections: Sections,
    /// Index into `file.rings` by component and ring id.
    rings: HashMap<(u32, u32), usize>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(file: &'a mut Snapshot) -> Self {
        Self { file, sections: Sections::default(), rings: HashMap::new() }
    }

    /// Goes through the sections from `start` on. The answer is where another snapshot begins.
    pub(super) fn run(
        mut self,
        start: u64,
        tick: &mut dyn FnMut(u64),
    ) -> Result<Option<u64>, Error> {
        let size = self.file.size();
        let mut at = start;
        let mut other = None;
        let mut payload = Vec::new();
        // Where the last section begins.
        let mut begun = at;
        while at < size {
            tick(at);
            let Some(header) = self.file.section_at(at)? else {
                // Damage, or the end.
                let next = self.file.find_section(at + 1, size)?;
                // It may begin where the padding of the last section would be.
                let padding = at.saturating_sub(ALIGN - 1);
                other = self.file.find_header(padding, next.unwrap_or(size))?;
                if let Some(other) = other {
                    match self.file.stream {
                        true if other < at => self.file.damage.torn = other - begun,
                        true => self.file.damage.torn = other - at,
                        false => self.file.damage.skipped_bytes += other.saturating_sub(at),
                    }
                    break;
                }
                if next.is_none() && self.stopped_in_header(at)? {
                    self.file.damage.torn = size - at;
                    break;
                }
                self.file.damage.skipped_bytes += next.unwrap_or(size) - at;
                match next {
                    Some(next) => at = next,
                    None => break,
                }
                continue;
            };
            let body = at + SECTION_HEADER as u64;
            if header.len > size - body.min(size) {
                // Believe the length only if nothing sound follows.
                let next = self.file.find_section(at + ALIGN, size)?;
                other = self.file.find_header(at, next.unwrap_or(size))?;
                match self.file.stream && (next.is_none() || other.is_some()) {
                    true => self.file.damage.torn = other.unwrap_or(size) - at,
                    false => self.file.damage.bad_sections += 1,
                }
                if other.is_some() {
                    break;
                }
                match next {
                    Some(next) => at = next,
                    None => break,
                }
                continue;
            }
            payload.clear();
            payload.resize(header.len as usize, 0);
            self.file.read_some(body, &mut payload)?;
            let bad = self.file.damage.bad_sections;
            begun = at;
            at = body + header.len.next_multiple_of(ALIGN);
            match self.sections.take(self.file, &header, body, &payload) {
                Part::None => {}
                Part::Ring(ring) => self.ring(ring),
                Part::Page(id, page, missed) => self.page(id, page, missed, begun, at)?,
                Part::Released(id, records) => self.release(id, records),
            }
            if self.file.damage.bad_sections != bad {
                other = self.file.find_header(body, at)?;
                if other.is_some() {
                    if let (true, Some(other)) = (self.file.stream, other) {
                        self.file.damage.bad_sections -= 1;
                        self.file.damage.torn = other - begun;
                    }
                    break;
                }
            } else if at > size && self.file.stream {
                // Only its padding isn't there, but that, too, is cut off.
                self.file.damage.torn = size - begun;
            }
        }
        self.file.rings.shrink_to_fit();
        self.file.links.finish()?;
        self.file.damage.cut_off = !self.sections.ended && !self.file.stream;
        if self.sections.count == 0 {
            let first = self.file.section_at(start)?.map_or(0, |header| header.len);
            return Err(nothing(size < start + SECTION_HEADER as u64 + first));
        }
        if self.file.damage.bad_header {
            self.file.version = self.file.likely_version();
        }
        Ok(other)
    }

    /// Whether the capture of a stream stops in the middle of the section header at `at`.
    fn stopped_in_header(&self, at: u64) -> Result<bool, Error> {
        let mut raw = [0; SECTION_HEADER];
        let n = self.file.read_some(at, &mut raw)?;
        let magic = wire::SECTION_MAGIC.to_le_bytes();
        let n_magic = n.min(magic.len());
        Ok(self.file.stream && n < SECTION_HEADER && raw[..n_magic] == magic[..n_magic])
    }

    /// Takes in a page, whose section is from `at` to `after`.
    fn page(
        &mut self,
        id: (u32, u32),
        page: PageRef,
        missed: u64,
        at: u64,
        after: u64,
    ) -> Result<(), Error> {
        let stream = self.file.stream;
        self.begin_anew(id);
        if let Some(ring) = &mut self.ring_mut(id).ring {
            ring.add_missed(missed);
        }
        let number = match stream {
            true => self.file.links.add()?,
            false => 0,
        };
        let run = Run::one(id, page, after, number);
        let before = self.ring_mut(id).push(run, stream).filter(|_| stream);
        if let Some(before) = before {
            self.file.links.set(before, Link { at, number })?;
        }
        Ok(())
    }

    /// Takes in that a ring was taken from its owner.
    fn release(&mut self, id: (u32, u32), records: u64) {
        let mut lost = Losses::default();
        if self.rings.contains_key(&id) {
            let known = self.ring_mut(id);
            known.is_released = true;
            lost = known.ring.as_ref().map_or(lost, RingInfo::lost);
        }
        self.sections.release(self.file, id.0, records, lost);
    }

    /// Takes what is said of a ring, which may be said again when it has changed.
    fn ring(&mut self, mut new: RingInfo) {
        let id = (new.component, new.ring);
        if self.ring_mut(id).ring.is_none() {
            self.begin_anew(id);
        }
        let known = self.ring_mut(id);
        let old = known.ring.as_ref();
        if let Some(old) = old.filter(|old| known.is_released || changes_hands(old, &new)) {
            // A thread may have the id of one that has ended.
            let epoch = known.epoch + u32::from(who(old) == who(&new));
            self.rings.remove(&id);
            self.ring_mut(id).epoch = epoch;
        }
        let before = before(self.file, &new);
        let ring = self.ring_mut(id);
        match &ring.ring {
            Some(old) => new.go_on(old),
            None if ring.runs.is_empty() => ring.before = before,
            None => {}
        }
        ring.ring = Some(new);
    }

    /// What comes of a ring that was taken from its owner is of another one, also if its section is
    /// lost.
    fn begin_anew(&mut self, id: (u32, u32)) {
        let known = self.ring_mut(id);
        if known.is_released {
            let epoch = known.epoch.saturating_add(1);
            self.rings.remove(&id);
            self.ring_mut(id).epoch = epoch;
        }
    }

    /// The current owner of the ring with this id.
    fn ring_mut(&mut self, id: (u32, u32)) -> &mut RingPages {
        let rings = &mut self.file.rings;
        let index = *self.rings.entry(id).or_insert_with(|| {
            rings.push(Arc::new(RingPages::new(id)));
            rings.len() - 1
        });
        Arc::make_mut(&mut rings[index])
    }
}
