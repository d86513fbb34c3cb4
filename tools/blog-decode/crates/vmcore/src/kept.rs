// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Memory that has survived a reboot, as `previous/snapshot` has it, becomes a snapshot.
//! `blog/parts/persist/format.rs` describes it.
//!
//! The machine may have stopped amid any store, memory may have lost its content, and who could
//! write there may mean harm. So each page and each ring must make sense by itself; what doesn't is
//! left out, and counted.

use std::{
    collections::{btree_map::Entry, BTreeMap},
    io::Write,
};

use crate::{
    blogfmt::bytes::u32_at,
    error::Error,
    layout::RingLayout,
    memory::{Fault, Memory},
    name_of,
    out::Out,
    page,
    problems::Problems,
    record::Version,
    rings::{candidate, rooms_of, take_page, Candidate},
    snapshot::{parse_section_header, text, SECTION_HEADER, VERSIONS},
    wire::{
        field::Field,
        file::{ComponentSection, Kind, ENDIAN, NAME_MAX},
        page::{PageInfo, PAGE_HEADER_SIZE, PAGE_MAGIC},
        persist::{is_used, parts, Facts, Region, Unreadable, READS},
    },
};

/// A machine has no more.
const MAX_CPUS: u32 = 1 << 16;

/// The bytes of the file, by their place in it.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn get(&self, at: u64, len: u64) -> Option<&'a [u8]> {
        let from = usize::try_from(at).ok()?;
        self.0.get(from..)?.get(..usize::try_from(len).ok()?)
    }
}

impl Memory for Bytes<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let bytes = self.get(addr, buf.len() as u64).ok_or(Fault::Missing)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }
}

/// A frame: the number of its component's memory, and where it is in the file.
#[derive(Clone, Copy)]
struct Frame {
    memory: u32,
    at: u64,
}

/// Writes a snapshot of what the file has.
pub fn kept(bytes: &[u8], to: impl Write) -> Result<Problems, Error> {
    let raw = bytes.get(..Region::SIZE).unwrap_or_default();
    let region = Region::get(raw);
    let crc = crc32fast::hash(raw.get(..Region::SUMMED).unwrap_or_default());
    region.check(crc).map_err(|e| {
        Error::File(match e {
            Unreadable::Empty => "nothing has survived there".into(),
            Unreadable::Version(n) => {
                let (first, last) = (READS.start(), READS.end());
                format!("memory of version {n}, but this program reads {first} to {last}")
            }
            Unreadable::Damaged => "its header is damaged: nothing in it can be found".into(),
        })
    })?;
    if region.endian != ENDIAN {
        return Err(Error::File(
            "written by a big-endian machine, which this program cannot read".into(),
        ));
    }
    let version = Version::from_number(region.wire_version)
        .map_err(|e| Error::File(format!("records of {e}")))?;
    if !VERSIONS.contains(&region.snapshot_version) {
        return Err(Error::File(format!(
            "descriptions of version {}, but this program reads {} to {}",
            region.snapshot_version,
            VERSIONS.start(),
            VERSIONS.end()
        )));
    }
    let (rings_at, chunk) = match region.version {
        1 => (0, Some(region.rings_at)),
        _ => (region.rings_at, None),
    };
    let ring = match region.version {
        1 | 2 => RingLayout::before(&region.rings_before),
        _ => RingLayout::NOW,
    };
    let form = Form { rings_at, chunk, ring };
    let rings = u64::from(region.rings) * u64::from(form.ring.size) + u64::from(form.rings_at);
    let fits = form.ring.fits(form.chunk.is_none());
    if !fits || region.rings < 2 || rings > region.page_size.into() {
        return Err(Error::File("the layout of rings is damaged".into()));
    }
    let mut job = Job {
        bytes: Bytes(bytes),
        region,
        form,
        version,
        cpus: 1,
        frames: BTreeMap::new(),
        out: Out::new(to, version)?,
        problems: Problems::default(),
    };
    job.run()?;
    job.out.end()?;
    Ok(job.problems)
}

/// What depends on the version of the region.
struct Form {
    /// Where the first ring is in a page of rings.
    rings_at: u32,
    /// Size of the chunks that a page may be split into. `None`: rings have pages of their own.
    chunk: Option<u32>,
    ring: RingLayout,
}

struct Job<'a, W> {
    bytes: Bytes<'a>,
    region: Region,
    form: Form,
    version: Version,
    /// CPUs of the machine: each may have been in the middle of a change.
    cpus: u32,
    /// Those of each component.
    frames: BTreeMap<u32, Vec<Frame>>,
    out: Out<W>,
    problems: Problems,
}

impl<'a, W: Write> Job<'a, W> {
    fn run(&mut self) -> Result<(), Error> {
        let page_size = u64::from(self.region.page_size);
        let mut at = self.region.frames_at();
        for owner in self.region.owners(self.bytes.0) {
            if is_used(owner) {
                let (component, memory) = parts(owner);
                let frames = self.frames.entry(component).or_default();
                frames.push(Frame { memory, at });
                at += page_size;
            }
        }
        let size = self.bytes.0.len() as u64;
        let of = || format!("{size} bytes, of {at}");
        if size < at {
            self.problems.grave("file", "it is cut off", of);
        }
        if size > at {
            self.problems.grave("file", "it is longer than it says", of);
        }
        let facts = self.facts();
        for (kind, payload) in sections(facts) {
            match kind {
                Kind::System => {
                    self.cpus = u32_at(payload, 4).map_or(1, |cpus| cpus.clamp(1, MAX_CPUS));
                    self.out.as_is(kind, payload)?;
                }
                Kind::Clock | Kind::Images | Kind::Table => self.out.as_is(kind, payload)?,
                Kind::Component => {
                    self.out.as_is(kind, payload)?;
                    let ComponentSection { id, name, .. } = ComponentSection::get(payload);
                    self.component(id, &name)?;
                }
                _ => {}
            }
        }
        while let Some((&id, _)) = self.frames.first_key_value() {
            let name = name_of(&[0; NAME_MAX], id);
            let section = ComponentSection { id, name, ..ComponentSection::get(&[]) };
            self.problems.grave(&text(&section.name), "its name is not known", String::new);
            self.out.as_is(Kind::Component, &section.bytes())?;
            self.component(id, &section.name)?;
        }
        Ok(())
    }

    /// The sections of the latest copy of the facts that is whole.
    fn facts(&mut self) -> &'a [u8] {
        let (bytes, region) = (&self.bytes, &self.region);
        let copy = |n| {
            let all = bytes.get(region.facts_at(n), region.facts.into())?;
            let (head, sections) = all.split_at_checked(Facts::SIZE)?;
            let facts = Facts::read(head)?;
            let sections = sections.get(..facts.len as usize)?;
            let mut crc = crc32fast::Hasher::new();
            crc.update(head.get(..Facts::SUMMED)?);
            crc.update(sections);
            (crc.finalize() == facts.crc).then_some((facts.generation, sections))
        };
        let whole = [copy(0), copy(1)].into_iter().flatten();
        match whole.max_by_key(|(generation, _)| *generation) {
            Some((_, sections)) => sections,
            None => {
                let what = "both copies are damaged: names, sites and times are not known";
                self.problems.grave("facts", what, String::new);
                &[]
            }
        }
    }

    /// Writes what the frames of a component hold.
    fn component(&mut self, id: u32, name: &[u8; NAME_MAX]) -> Result<(), Error> {
        let place = format!("component {}", text(&name_of(name, id)));
        let mut frames = self.frames.remove(&id).unwrap_or_default();
        // What it had before was just being freed.
        let latest = frames.iter().map(|frame| frame.memory).max();
        frames.retain(|frame| Some(frame.memory) == latest);
        let (mut rings, mut rooms) = (BTreeMap::new(), Vec::new());
        frames.retain(|frame| !self.rings(id, *frame, &place, &mut rings, &mut rooms));
        let mut leaving = 0;
        for frame in frames {
            leaving += self.pages(frame, &place, &mut rings);
        }
        for at in rooms {
            let sizes = rooms_of(&self.form.ring);
            leaving += take_page(&self.bytes, &mut rings, at, sizes, &place, &mut self.problems);
        }
        if leaving > self.cpus {
            let what = "too many pages belong to no ring: those are skipped";
            self.problems.grave(&place, what, || format!("{leaving}"));
        }
        for mut ring in rings.into_values() {
            ring.find_current();
            let Some(ring) = ring.finish(self.cpus, &place, &mut self.problems) else {
                continue;
            };
            self.out.as_is(Kind::Ring, &ring.ring.bytes())?;
            for page in &ring.pages {
                let problems = &mut self.problems;
                let read = page::read(&self.bytes, &ring, page, self.version, &place, problems);
                if let Some(bytes) = read {
                    self.out.page(id, ring.ring.ring, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the rings of a frame, and where their own pages are; `false`: it has none.
    fn rings(
        &mut self,
        component: u32,
        frame: Frame,
        place: &str,
        to: &mut BTreeMap<u32, Candidate>,
        rooms: &mut Vec<u64>,
    ) -> bool {
        let bytes = self.bytes.get(frame.at, self.region.page_size.into());
        let bytes = bytes.unwrap_or_default();
        let Some(first) = self.first_ring(bytes) else {
            return false;
        };
        let problems = &mut self.problems;
        let (l, rings_at) = (&self.form.ring, u64::from(self.form.rings_at));
        let all = bytes.get(rings_at as usize..).unwrap_or_default().chunks_exact(l.size as usize);
        let room = (frame.at + rings_at + u64::from(l.room)..).step_by(l.size as usize);
        for ((id, bytes), room) in (first..).zip(all.take(self.region.rings as usize)).zip(room) {
            let Some(ring) = candidate(l, component, id, bytes, place, problems) else {
                continue;
            };
            match to.entry(id) {
                Entry::Vacant(place) => {
                    place.insert(ring);
                    rooms.extend(self.form.chunk.is_none().then_some(room));
                }
                Entry::Occupied(_) => {
                    problems
                        .grave(place, "two rings have the same number", || format!("ring {id}"));
                }
            }
        }
        true
    }

    /// The id of the first ring of a page of rings; `None` where it is none. Most rings agree.
    fn first_ring(&self, frame: &[u8]) -> Option<u32> {
        let (count, layout) = (self.region.rings, &self.form.ring);
        if u32_at(frame, 0)? == PAGE_MAGIC {
            return None;
        }
        let at = self.form.rings_at + layout.id;
        let id = |n: u32| u32_at(frame, (n * layout.size + at) as usize);
        (0..2).find_map(|n| {
            let first = id(n)?.checked_sub(n).filter(|id| id % count == 0)?;
            first.checked_add(count)?;
            let same = (0..count).filter(|n| id(*n) == Some(first + n)).count();
            (same as u32 > count / 2).then_some(first)
        })
    }

    /// Gives the pages of a frame to their rings: one, or in version 1 chunks, of which the first
    /// one says that they are so large. How many have left their rings.
    fn pages(&mut self, frame: Frame, place: &str, rings: &mut BTreeMap<u32, Candidate>) -> u32 {
        let at = || format!("at {:#x} in the file", frame.at);
        let Some(bytes) = self.bytes.get(frame.at, PAGE_HEADER_SIZE as u64) else {
            return 0;
        };
        let info = PageInfo::read(bytes).filter(|info| info.magic == PAGE_MAGIC);
        let Some(size) = info.map(|info| info.size) else {
            let what = "a page has neither records nor rings";
            self.problems.grave(place, what, at);
            return 0;
        };
        if size != self.region.page_size && Some(size) != self.form.chunk {
            self.problems.grave(place, "a page has no header", at);
            return 0;
        }
        let chunks = (0..self.region.page_size / size).map(|n| frame.at + u64::from(n * size));
        let problems = &mut self.problems;
        chunks.map(|at| take_page(&self.bytes, rings, at, size..=size, place, problems)).sum()
    }
}

/// The sections of the facts, as long as they make sense.
fn sections(mut rest: &[u8]) -> impl Iterator<Item = (Kind, &[u8])> {
    std::iter::from_fn(move || loop {
        let header = parse_section_header(rest.get(..SECTION_HEADER)?)?;
        let after = rest.get(SECTION_HEADER..)?;
        let len = usize::try_from(header.len).ok()?;
        let payload = after.get(..len)?;
        rest = after.get(len.next_multiple_of(8)..).unwrap_or_default();
        if let Some(kind) = Kind::from_u16(header.kind) {
            return Some((kind, payload));
        }
    })
}
