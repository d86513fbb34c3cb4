// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Cuts a stream into files, each of which decodes alone.
//!
//! Sections of a stream come once, and again when what they say has changed; pages decode alone. So a
//! further file begins with the last of each that is not a page: [`Split`] keeps these. It numbers
//! sections anew, so that what is missing in the stream is missing in the file, and nothing else.
//! Components count rings that were taken from their owners: of these, each file leaves out those
//! that earlier files have. A program can add sections of its own, as side tables.

use std::{
    collections::{BTreeMap, HashSet},
    iter, mem,
};

use super::{
    parse_section_header, scan::list, Damage, Losses, Snapshot, ALIGN, FILE_HEADER, SECTION_HEADER,
};
use crate::{
    blogfmt::{format::Head, source::Source},
    error::Error,
    record::{Item, Version, Walk},
    wire::{
        file::{
            ComponentSection, End, FileHeader, Image, Kind, Page, Released, RingSection,
            SectionHeader, ENDIAN, FILE_MAGIC, SECTION_MAGIC, VERSION,
        },
        page::PageInfo,
    },
};

/// No file header is longer.
const HEADER_MAX: u64 = 4096;
/// What describes the rings of a stream is less than that.
const KEPT_MAX: usize = 64 << 20;
/// Where the index is in a section's header, and its checksums.
const INDEX: usize = mem::offset_of!(SectionHeader, index);
const PAYLOAD_CRC: usize = mem::offset_of!(SectionHeader, payload_crc);
const CRC: usize = SECTION_HEADER - 4;

/// A stream, or a snapshot, that comes in pieces.
#[derive(Default)]
pub struct Split {
    header: Vec<u8>,
    /// Bytes of what has not come as a whole.
    rest: Vec<u8>,
    /// By kind, and what it is about; the order is that of a file.
    kept: BTreeMap<(u16, u64), Vec<u8>>,
    kept_bytes: usize,
    /// By component.
    loose: BTreeMap<u32, Loose>,
    /// Checksum and length of sections about images.
    known: HashSet<(u32, u64)>,
    /// Index of the next section as it comes, and in the file.
    next: u32,
    next_in_file: u32,
    /// Sections of the file that were added to it.
    added: u32,
    /// Images that it has listed.
    pub images: Vec<Image>,
    /// Ids of call sites that it has records of.
    pub sites: HashSet<u32>,
    /// That of its records.
    version: Version,
    /// Build IDs of images whose side tables it has.
    pub tables: HashSet<Vec<u8>>,
    /// Whether it is a stream.
    pub stream: bool,
    /// Whether a snapshot has come to its end.
    ended: bool,
}

/// Records and losses, as a component counts them.
type Sums = (u64, Losses);

/// What a component counts of rings that were taken from their owners.
#[derive(Default)]
struct Loose {
    /// What its first section has, which is of no ring of the stream.
    first: Sums,
    /// What is of rings of the stream: so far, and in the files before this one.
    released: Sums,
    before: Sums,
}

impl Split {
    /// Takes bytes in, and appends to `out` what of the file is there as a whole.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.rest.extend_from_slice(bytes);
        let mut rest = mem::take(&mut self.rest);
        let mut at = 0;
        if self.header.is_empty() {
            if rest.len() < FILE_HEADER {
                self.rest = rest;
                return Ok(());
            }
            let (len, file) = header_of(&rest[..FILE_HEADER])?;
            if rest.len() < len {
                self.rest = rest;
                return Ok(());
            }
            (self.stream, self.version) = (file.stream, file.version);
            self.header = rest[..len].to_vec();
            out.extend_from_slice(&self.header);
            at = len;
        }
        while let Some(raw) = rest.get(at..at + SECTION_HEADER) {
            let Some(header) = parse_section_header(raw) else {
                // Damage stays what it is.
                let end = at + ALIGN as usize;
                out.extend_from_slice(&rest[at..end]);
                at = end;
                continue;
            };
            // At most SECTION_MAX.
            let len = SECTION_HEADER + (header.len.next_multiple_of(ALIGN)) as usize;
            let Some(section) = rest.get_mut(at..at + len) else {
                break;
            };
            let lost = header.index.saturating_sub(self.next);
            self.next = header.index.saturating_add(1);
            let index = self.next_in_file.saturating_add(lost);
            self.next_in_file = index.saturating_add(1);
            renumber(section, index, self.added);
            // With another number, the section at the end has another checksum.
            self.keep(&SectionHeader::read(section).unwrap_or(header), section)?;
            match self.rebased(section) {
                Some((_, new)) => out.extend_from_slice(&new),
                None => out.extend_from_slice(section),
            }
            at += len;
        }
        rest.drain(..at);
        self.rest = rest;
        Ok(())
    }

    /// Whether the header of the file has come.
    pub fn has_begun(&self) -> bool {
        !self.header.is_empty()
    }

    /// Adds a section before those in `held`, which are the last that came. Side tables are in all
    /// further files, too.
    pub fn add(&mut self, kind: Kind, payload: &[u8], held: &mut Vec<u8>) -> Result<(), Error> {
        let start = if held.starts_with(&FILE_MAGIC) { self.header.len() } else { 0 };
        let (mut at, mut first) = (start, self.next_in_file);
        while let Some(raw) = held.get(at..at + SECTION_HEADER) {
            let Some(header) = parse_section_header(raw) else {
                at += ALIGN as usize;
                continue;
            };
            let end = at + SECTION_HEADER + header.len.next_multiple_of(ALIGN) as usize;
            let Some(section) = held.get_mut(at..end) else { break };
            first = first.min(header.index);
            renumber(section, header.index.saturating_add(1), 1);
            at = end;
        }
        self.next_in_file = self.next_in_file.saturating_add(1);
        self.added += 1;
        let section = section(kind, payload, first);
        if let Some(header) = SectionHeader::read(&section) {
            self.keep(&header, &section)?;
        }
        held.splice(start..start, section);
        Ok(())
    }

    /// What has come of a section that is not whole, and what is wrong if nothing more is to come.
    /// An error if not even a file's header was there.
    pub fn end(&mut self) -> Result<(Vec<u8>, Damage), Error> {
        let rest = mem::take(&mut self.rest);
        if self.header.is_empty() && !rest.is_empty() {
            file_header(&rest)?;
        }
        let is_snapshot = !self.stream && !self.header.is_empty();
        let damage = Damage {
            torn: if self.stream { rest.len() as u64 } else { 0 },
            cut_off: is_snapshot && !self.ended,
            ..Damage::default()
        };
        Ok((rest, damage))
    }

    /// How the next file begins; what is fed from now on goes to that.
    pub fn next_file(&mut self) -> Vec<u8> {
        let mut out = self.header.clone();
        for loose in self.loose.values_mut() {
            loose.before = loose.released;
        }
        let mut index = 0;
        let mut put = |section: &[u8]| {
            let start = out.len();
            out.extend_from_slice(section);
            set_index(&mut out[start..], index);
            index += 1;
        };
        for section in self.kept.values() {
            match self.rebased(section) {
                // What came since the first is in no file: the stream's reader has missed it.
                Some((first, new)) => [first, new].iter().for_each(|section| put(section)),
                None => put(section),
            }
        }
        (self.next_in_file, self.added) = (index, 0);
        out
    }

    /// A component's section with the records that the first one of the stream has, and the section
    /// itself, without what files before this one have; `None`: it stays as it is.
    fn rebased(&self, section: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let header = SectionHeader::read(section)?;
        let payload = section.get(SECTION_HEADER..SECTION_HEADER + header.len as usize)?;
        let is_one = header.kind == Kind::Component as u16 && is_sound(&header, payload);
        let mut component = ComponentSection::read(payload).filter(|_| is_one)?;
        let loose = self.loose.get(&component.id)?;
        let (records, lost) = loose.before;
        if loose.before == Sums::default() {
            return None;
        }
        let less = |sum: &mut u64, n: u64, first: u64| *sum = sum.saturating_sub(n).max(first);
        less(&mut component.gone_records, records, loose.first.0);
        for (i, sum) in component.lost.iter_mut().enumerate() {
            less(sum, lost[i], loose.first.1[i]);
        }
        let with = |component: &ComponentSection| {
            let mut section = section.to_vec();
            let to = &mut section[SECTION_HEADER..SECTION_HEADER + payload.len()];
            to.iter_mut().zip(component.bytes()).for_each(|(to, byte)| *to = byte);
            seal(&mut section, header.index);
            section
        };
        let new = with(&component);
        component.gone_records = loose.first.0;
        Some((with(&component), new))
    }

    /// Notes which call sites the records of a page are of.
    fn note_sites(&mut self, payload: &[u8]) {
        let page = payload.get(Page::SIZE..).unwrap_or_default();
        let Some(info) = PageInfo::read(page) else { return };
        let mut walk = Walk::new(&info, page.len(), self.version);
        while let Some(item) = walk.next(page) {
            if let Item::Record { site, .. } = item {
                self.sites.insert(site);
            }
        }
    }

    /// A ring was taken from its owner: its section is of no use any more.
    fn release(&mut self, released: &Released) {
        let ring = (Kind::Ring as u16, key(released.component, released.ring));
        let old = self.kept.remove(&ring).unwrap_or_default();
        self.kept_bytes -= old.len();
        let ring = old.get(SECTION_HEADER..).and_then(RingSection::read);
        let Some(loose) = self.loose.get_mut(&released.component) else { return };
        let (records, lost) = &mut loose.released;
        *records = records.saturating_add(released.records);
        for (sum, n) in lost.iter_mut().zip(ring.map_or(Losses::default(), |ring| ring.lost)) {
            *sum = sum.saturating_add(n);
        }
    }

    fn keep(&mut self, header: &SectionHeader, section: &[u8]) -> Result<(), Error> {
        let payload = &section[SECTION_HEADER..SECTION_HEADER + header.len as usize];
        if !is_sound(header, payload) {
            return Ok(());
        }
        let about = match Kind::from_u16(header.kind) {
            Some(Kind::System | Kind::Clock) => Some(0),
            Some(Kind::Images) if self.known.insert((header.payload_crc, header.len)) => {
                self.images.extend(list::<Image>(payload));
                Some(self.known.len() as u64)
            }
            Some(Kind::Table | Kind::SideTable)
                if self.known.insert((header.payload_crc, header.len)) =>
            {
                self.tables.extend(Head::parse(payload).map(|head| head.build_id));
                Some(self.known.len() as u64)
            }
            Some(Kind::End) => {
                self.ended = true;
                None
            }
            Some(Kind::Page) => {
                self.note_sites(payload);
                None
            }
            Some(Kind::Component) => ComponentSection::read(payload).map(|c| {
                let first = (c.gone_records, c.lost);
                self.loose.entry(c.id).or_insert(Loose { first, ..Loose::default() });
                c.id.into()
            }),
            Some(Kind::Ring) => {
                RingSection::read(payload).map(|ring| key(ring.component, ring.ring))
            }
            Some(Kind::Released) => {
                if let Some(released) = Released::read(payload) {
                    self.release(&released);
                }
                None
            }
            _ => None,
        };
        let Some(about) = about else {
            return Ok(());
        };
        self.kept_bytes += section.len();
        // A table is there before records need it.
        let kind = if header.kind == Kind::SideTable as u16 { 0 } else { header.kind };
        let old = self.kept.insert((kind, about), section.to_vec());
        self.kept_bytes -= old.map_or(0, |old| old.len());
        match self.kept_bytes {
            ..=KEPT_MAX => Ok(()),
            _ => Err(Error::File("damaged: it tells of more rings than any kernel has".into())),
        }
    }
}

/// A ring of a component.
fn key(component: u32, ring: u32) -> u64 {
    u64::from(ring) << 32 | u64::from(component)
}

/// Length of a file's header, and whether it is a stream's.
pub fn file_header(raw: &[u8]) -> Result<(usize, bool), Error> {
    header_of(raw).map(|(len, file)| (len, file.stream))
}

/// The same with all that a file's header says.
fn header_of(raw: &[u8]) -> Result<(usize, Snapshot), Error> {
    let mut file = Snapshot::empty(String::new(), Source::Memory(raw.to_vec()));
    match file.check_header()? {
        len if len <= HEADER_MAX && !file.damage.bad_header => Ok((len as usize, file)),
        _ => Err(Error::File("not a BLog snapshot or stream".into())),
    }
}

/// The header of a file with records of this version, and these flags.
pub fn header(version: Version, flags: u32) -> [u8; FILE_HEADER] {
    let mut header = FileHeader {
        magic: FILE_MAGIC,
        version: VERSION,
        endian: ENDIAN,
        wire_version: version.number(),
        header_size: FILE_HEADER as u32,
        flags,
        crc: 0,
    };
    header.crc = crc32fast::hash(&header.bytes()[..FILE_HEADER - 4]);
    header.bytes()
}

/// Whole sections, as [`Split::feed`] gives them, with their headers; and what is between them.
pub fn pieces(bytes: &[u8]) -> impl Iterator<Item = (Option<SectionHeader>, &[u8])> {
    let mut rest = bytes;
    iter::from_fn(move || {
        let header = parse_section_header(rest);
        let len = header.map_or(0, |h| SECTION_HEADER + h.len.next_multiple_of(ALIGN) as usize);
        let (header, len) = match (1..=rest.len()).contains(&len) {
            true => (header, len),
            false => (None, rest.len().min(ALIGN as usize)),
        };
        let (piece, more) = rest.split_at(len);
        rest = more;
        (len > 0).then_some((header, piece))
    })
}

/// Whether the payload of a section is as it was written.
pub fn is_sound(header: &SectionHeader, payload: &[u8]) -> bool {
    crc32fast::hash(payload) == header.payload_crc
}

/// Makes a section.
pub fn section(kind: Kind, payload: &[u8], index: u32) -> Vec<u8> {
    let header = SectionHeader {
        magic: SECTION_MAGIC,
        kind: kind as u16,
        flags: 0,
        len: payload.len() as u64,
        index: 0,
        reserved: 0,
        payload_crc: 0,
        crc: 0,
    };
    let mut section = header.bytes().to_vec();
    section.extend_from_slice(payload);
    section.resize(section.len().next_multiple_of(ALIGN as usize), 0);
    seal(&mut section, index);
    section
}

/// Gives a section another number. The last one of a file counts those before, to which so many were
/// added.
fn renumber(section: &mut [u8], index: u32, added: u32) {
    let end = SectionHeader::read(section).filter(|h| h.kind == Kind::End as u16 && added != 0);
    if let Some(header) = end {
        let payload = &mut section[SECTION_HEADER..SECTION_HEADER + header.len as usize];
        if let Some(mut end) = End::read(payload).filter(|_| is_sound(&header, payload)) {
            end.sections = end.sections.saturating_add(added);
            payload.iter_mut().zip(end.bytes()).for_each(|(to, byte)| *to = byte);
            return seal(section, index);
        }
    }
    set_index(section, index);
}

/// Gives a section that has none its number and checksums.
pub fn seal(section: &mut [u8], index: u32) {
    let header = SectionHeader::read(section);
    let len = header.map_or(0, |header| header.len as usize);
    let payload = section.get(SECTION_HEADER..SECTION_HEADER + len);
    let crc = payload.map_or(0, crc32fast::hash);
    section[PAYLOAD_CRC..CRC].copy_from_slice(&crc.to_le_bytes());
    set_index(section, index);
}

fn set_index(section: &mut [u8], index: u32) {
    section[INDEX..INDEX + 4].copy_from_slice(&index.to_le_bytes());
    let crc = crc32fast::hash(&section[..CRC]);
    section[CRC..SECTION_HEADER].copy_from_slice(&crc.to_le_bytes());
}
